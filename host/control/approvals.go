package control

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
)

// An Approval is a destructive call that waits for a person, or whose answer
// waits for the call to come back.
type Approval struct {
	ID        string          `json:"approval"` // its id
	Digest    string          `json:"digest"`
	State     string          `json:"state"`
	Principal string          `json:"client"` // the client's registered name
	Client    string          `json:"calls_itself"`
	Tool      string          `json:"tool"`
	Title     string          `json:"title"`
	Release   string          `json:"release"`
	Origin    string          `json:"origin"`
	Account   string          `json:"account,omitempty"`
	Args      json.RawMessage `json:"args"`
	Writes    []string        `json:"writes"` // in plain words
	Attended  bool            `json:"attended"`
	Created   time.Time       `json:"created"`
	Ends      time.Time       `json:"ends"`
}

func approvalOf(p gate.Pending) Approval {
	s := p.Subject
	return Approval{
		ID: p.ID, Digest: string(p.Digest), State: string(p.State), Principal: s.Principal.Name, Client: s.Client,
		Tool: s.Tool, Title: s.Title, Release: s.Release, Origin: s.Origin, Account: s.Account, Args: s.Args,
		Writes: s.Writes, Attended: p.Attended, Created: p.Created, Ends: p.Ends,
	}
}

func listApprovals(_ context.Context, r *request) (any, error) {
	list := []Approval{}
	for _, p := range r.server.Gate.Pending() {
		list = append(list, approvalOf(p))
	}
	return list, nil
}

// tellWaiting tells the caller of a call as soon as it waits for a person, until
// the returned function runs.
func (r *request) tellWaiting(ctx context.Context, who host.Principal, p CallParams) (stop func()) {
	args, err := gate.Canonical(p.Args)
	if err != nil {
		return func() {} // the call is refused for it
	}
	ctx, cancel := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() {
		seen := map[string]bool{}
		for list := range r.server.Gate.Watch(ctx) {
			for _, w := range list {
				s := w.Subject
				mine := s.Principal.ID == who.ID && bytes.Equal(s.Args, args) && (s.Tool == p.Tool || strings.ReplaceAll(s.Tool, ".", "_") == p.Tool)
				if mine && w.Attended && w.State == gate.StateOpen && !seen[w.ID] {
					seen[w.ID] = true
					_ = r.send(Event{Waiting: &Waiting{ID: w.ID, Tool: s.Tool}}) // the caller may be gone
				}
			}
		}
	})
	return func() {
		cancel()
		told.Wait()
	}
}

// DecideParams answers an approval. Code is not looked at for a no.
type DecideParams struct {
	ID      string `json:"id"`
	Code    string `json:"code,omitempty"`
	Approve bool   `json:"approve,omitempty"`
}

// A Challenge is what a person has to retype.
type Challenge struct {
	Code string `json:"code"`
}

// challenge gives out a code only to whom an answer would be taken from.
func challenge(_ context.Context, r *request) (any, error) {
	var p DecideParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if _, err := r.server.person(r.http); err != nil {
		return nil, err
	}
	code, err := r.server.Gate.Challenge(p.ID)
	return Challenge{Code: code}, err
}

func decide(ctx context.Context, r *request) (any, error) {
	var p DecideParams
	if err := r.params(&p); err != nil {
		return nil, err
	}
	by, err := r.server.person(r.http)
	if err != nil {
		return nil, err
	}
	if err := r.server.Gate.Decide(ctx, p.ID, p.Code, p.Approve, by); err != nil {
		return nil, err
	}
	return struct{}{}, r.server.Host.NoteDecision(ctx, p.ID, p.Approve, by)
}
