package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// A demoClient is the MCP client of the demo, over streamable HTTP: another
// program than the host, as far as the host can tell.
type demoClient struct{ c *client.Client }

func dialMCP(ctx context.Context, url, token string) (*demoClient, error) {
	c, err := client.NewStreamableHttpClient(url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "drawbridge demo", Version: version}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &demoClient{c}, nil
}

func (d *demoClient) close() { _ = d.c.Close() }

func (d *demoClient) tools(ctx context.Context) ([]string, error) {
	res, err := d.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range res.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// call returns a tool's structured content; a tool's failure is an error with
// its text.
func (d *demoClient) call(ctx context.Context, tool string, args map[string]any) (json.RawMessage, error) {
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, args
	res, err := d.c.CallTool(ctx, req)
	if err != nil {
		return nil, err
	}
	if res.IsError {
		for _, c := range res.Content {
			if t, ok := c.(mcp.TextContent); ok {
				return nil, errors.New(t.Text)
			}
		}
		return nil, fmt.Errorf("tool %q failed without a text", tool)
	}
	return json.Marshal(res.StructuredContent)
}
