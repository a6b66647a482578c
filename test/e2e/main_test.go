package e2e

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
