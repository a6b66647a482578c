// Package audit is a stub.
package audit

import (
	"context"
	"encoding/json"
	"time"
)

type ID string
type Log struct{}
type Event struct{ What, Detail string }
type Entry struct {
	Call                                             string
	Principal, Client, Tool, Connector, Release      string
	ModuleSHA256, Origin, Account, Approval, Digest  string
	Destructive                                      bool
	Args                                             json.RawMessage
}
type Outcome struct {
	Code     string
	Message  string
	Duration time.Duration
	Result   []byte
}

func Open(context.Context, string, string) (*Log, error)     { return &Log{}, nil }
func (l *Log) Begin(context.Context, Entry) (ID, error)       { return "1", nil }
func (l *Log) End(context.Context, ID, Outcome) error         { return nil }
func (l *Log) Note(context.Context, Event) error              { return nil }
func (l *Log) Close() error                                   { return nil }
