package rt

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/sites/rtcompare"
)

// UpdateOnPage are the fields that the ticket's own form sends for ticket 12, and
// an attack with some of them changed.
func updateOnPage(action string, fields ...abi.Field) func(name string, change ...abi.Field) Attack {
	form := append([]abi.Field{
		field("id", "12"), field("UpdateContentType", "text/html"), field("SubmitTicket", "Update Ticket"), field("Action", action), field("DefaultStatus", "open"),
		{Name: "Token", Token: `form[name="TicketUpdate"] input[name="Token"]`}, //nolint:gosec // it says where the page has one
		field("UpdateTimeWorked-TimeUnits", "minutes"), field("UpdateIgnoreAddressCheckboxes", "0"),
	}, fields...)
	for _, name := range []string{"QuoteTransaction", "Owner", "UpdateTimeWorked", "UpdateCc", "UpdateBcc", "UpdateSubject", "12-RefersTo"} {
		form = append(form, field(name, ""))
	}
	return func(name string, change ...abi.Field) Attack {
		a := post(name, 12, "/Ticket/Update.html", with(form, change...)...)
		a.From, a.Fetch.Body.Encoding = "/Ticket/Update.html?Action="+action+"&id=12", abi.EncodingMultipart
		return a
	}
}

// PageWrite is the reply by the ticket's own form, all of whose fields it sends.
func pageWrite() Write {
	sends := updateOnPage("Respond", field("UpdateType", "response"), field("UpdateContent", "<p>approved</p>"), field("Status", ""))
	return Write{
		Tool: ReplyOnPage, Args: object{"id": 12, "text": "approved"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneReply(t, before, after, 12, account, "approved", typedText)
		},
		Overreaches: []Attack{
			sends("another ticket", field("id", "76")),
			sends("markup in the text", field("UpdateContent", `<p>approved<img src="http://evil.localhost/"></p>`)),
			sends("a status with it", field("Status", "resolved")),
		},
	}
}

// StatusPageWrite is the status by the same form, with no message in it: another one
// than statusWrite leaves behind, which would be no change.
func statusPageWrite() Write {
	sends := updateOnPage("Comment", field("UpdateType", "private"), field("UpdateContent", ""), field("Status", "rejected"))
	return Write{
		Tool: StatusOnPage, Args: object{"id": 12, "status": "rejected"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneStatus(t, before, after, 12, account, "rejected")
		},
		Overreaches: []Attack{
			sends("another ticket", field("id", "76")),
			sends("a message with it", field("UpdateContent", "<p>x</p>")),
		},
	}
}

// CreatePageWrite is the form for a new ticket, with the two custom fields that
// the seed's queues have.
func createPageWrite() Write {
	form := []abi.Field{
		field("id", "new"),
		{Name: "Token", Token: createToken},
		field("QueueChanged", "0"), field("Queue", "1"), field("Status", "new"), field("Owner", "6"),
		field("Subject", "approved"), field("Content", "<p>approved</p>"), field("ContentType", "text/html"), field("SubmitTicket", "Create"),
		field(customField+"-Magic", "1"), field(customField, ""),
		field("TimeEstimated-TimeUnits", "minutes"), field("TimeWorked-TimeUnits", "minutes"), field("TimeLeft-TimeUnits", "minutes"),
	}
	for _, name := range []string{
		"Requestors", "Cc", "AdminCc", "InitialPriority", "FinalPriority", "TimeEstimated", "TimeWorked", "TimeLeft", "Starts", "Due",
		"new-DependsOn", "DependsOn-new", "new-MemberOf", "MemberOf-new", "new-RefersTo", "RefersTo-new",
	} {
		form = append(form, field(name, ""))
	}
	sends := func(name string, change ...abi.Field) Attack {
		a := post(name, 0, "/Ticket/Create.html", with(form, change...)...)
		a.From, a.Fetch.Body.Encoding = "/Ticket/Create.html?Queue=General", abi.EncodingMultipart
		return a
	}
	return Write{
		Tool: CreateOnPage, Args: object{"queue": "General", "queue_id": 1, "subject": "approved", "text": "approved"}, Approved: sends("approved"),
		Happened: func(t *testing.T, before, after *rtcompare.Truth, account string) {
			t.Helper()
			OneTicket(t, before, after, rtcompare.Ticket{Queue: "General", Subject: "approved", Status: "new", Owner: "Nobody", Requestors: []string{}}, account, "approved", typedText)
		},
		Overreaches: []Attack{
			sends("another queue", field("Queue", "4")),
			sends("an owner with it", field("Owner", "29")),
			sends("a custom field with it", field(customField, "crash")),
		},
	}
}

const (
	createToken = `form[name="TicketCreate"] input[name="Token"]` //nolint:gosec // it says where the page has one
	customField = "Object-RT::Ticket--CustomField-2-Values"
)
