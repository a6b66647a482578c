package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// No secret that was typed or looks like one is logged, to neither place.
func TestLogHoldsNoSecrets(t *testing.T) {
	secrets := redact.New()
	secrets.Add("hunter2-hunter2")
	var file, screen bytes.Buffer
	a := &app{stderr: &screen}
	log := a.newLogger(serveOptions{}, &file, secrets)
	log.Info("typed hunter2-hunter2", slog.String("page", "it said hunter2-hunter2"), slog.Any("error", errors.New("no hunter2-hunter2")))
	log.Info("header", slog.String("header", "Authorization: Bearer dbc_0123456789012345678901234567890123456789012"))
	log.Info("named", slog.String("token", "anything"), slog.String("tool", "tracker.list"))
	for name, text := range map[string]string{"file": file.String(), "screen": screen.String()} {
		for _, secret := range []string{"hunter2-hunter2", "dbc_0123", "anything"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q:\n%s", name, secret, text)
			}
		}
		if !strings.Contains(text, "tracker.list") {
			t.Errorf("%s lacks what is no secret:\n%s", name, text)
		}
	}
	screen.Reset()
	a.newLogger(serveOptions{quiet: true}, &file, secrets).Info("x")
	if screen.Len() > 0 {
		t.Errorf("quiet: %s", screen.String())
	}
}

// Whoever follows the log sees a call when it has happened, and what a call asked
// for stands nowhere in it.
func TestFollowLogs(t *testing.T) {
	h := newHome(t)
	h.ready(newSite(t, 1))
	cmd := h.command(t.Context(), "drawbridge", "logs", "--follow", "--json")
	told := &watched{want: `"tool":"sample.look"`, seen: make(chan struct{})}
	cmd.Stdout = told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.run("call", "sample_look")
	select {
	case <-told.seen:
	case <-time.After(time.Minute):
		t.Errorf("the call was not shown:\n%s", told.text())
	}
	if err := signalStop(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	h.try("call", "sample_look", `{"secret-argument":1}`)
	if text := h.run("logs", "--limit", "0", "--level", "debug"); strings.Contains(text, "secret-argument") || !strings.Contains(text, "outcome=ok") {
		t.Errorf("the log:\n%s", text)
	}
}
