package registry

import (
	"errors"
	"os"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("1.1.0")
	if err := f.client.Reach(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	if c, err := f.client.Resolve(t.Context(), tracker); err != nil || c.Version.Version != "1.0.0" {
		t.Errorf("something was fetched: %+v, %v", c, err)
	}
	if err := f.client.Reach(t.Context(), "none"); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("a registry that nobody added: %v", err)
	}
	f.must(os.RemoveAll(f.origin))
	if err := f.client.Reach(t.Context(), "main"); err == nil {
		t.Error("a registry that is gone answers")
	}
}
