// Command requesttracker is the connector for Request Tracker 5.
package main

import "github.com/drawbridge-mcp/drawbridge/abi/sdk"

func plugin() sdk.Plugin {
	return sdk.Plugin{
		sdk.Tool("rt.list_my_tickets", listMyTickets),
		sdk.Tool("rt.search_tickets", searchTickets),
		sdk.Tool("rt.get_ticket", getTicket),
		sdk.Tool("rt.list_queues", listQueues),
		sdk.Tool("rt.comment", comment),
		sdk.Tool("rt.reply", reply),
		sdk.Tool("rt.reply_on_page", replyOnPage),
		sdk.Tool("rt.set_status", setStatus),
		sdk.Tool("rt.set_status_on_page", setStatusOnPage),
		sdk.Tool("rt.create_ticket", createTicket),
		sdk.Tool("rt.create_ticket_on_page", createTicketOnPage),
	}
}

//go:wasmexport call
func call() int32 { return plugin().Call() }

//go:wasmexport describe
func describe() int32 { return plugin().Describe() }

func main() {}
