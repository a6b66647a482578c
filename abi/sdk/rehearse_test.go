package sdk

import (
	"encoding/json"
	"testing"
)

type needsValue struct{ of *int }

func (n needsValue) MarshalJSON() ([]byte, error) { return json.Marshal(*n.of) }

// A rehearsal runs before the host knows the module: nothing in it may fail.
func TestRehearseTakesAnyTool(t *testing.T) {
	Plugin{
		Tool("a.needs", func(*Context, needsValue) (needsValue, error) { return needsValue{}, nil }),
		Tool("a.scalar", func(*Context, int) (chan int, error) { return nil, nil }),
		Tool("a.any", func(*Context, any) (map[string]any, error) { return nil, nil }),
	}.rehearse()
}
