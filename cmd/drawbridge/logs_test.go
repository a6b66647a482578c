package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

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
