package host

import (
	"context"
	"log/slog"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
)

type journal struct{}

func newJournal(*audit.Log, *slog.Logger) *journal                      { return nil }
func (j *journal) begin(context.Context, *call) (audit.ID, error) { return "", nil }
func (j *journal) end(*call, *abi.Error) string                         { return "" }
func (j *journal) close()                                               {}
