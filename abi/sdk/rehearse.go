package sdk

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// rehearse encodes and decodes one of everything that a call exchanges with its
// host. An instance serves one call, and encoding/json learns a type when it first
// meets it: a host that describes the instance before the call that it is for, as
// ours does, spares the call that.
func (p Plugin) rehearse() {
	var in abi.CallInput
	_ = json.Unmarshal([]byte(`{"v":1,"tool":"t","args":{},"settings":{"k":"v"}}`), &in)
	encode(abi.Program{V: abi.Version, Steps: []abi.Step{
		Navigate("/"), Extract("rows", List("tr", Text("name", "td"))),
	}})
	if res, ok := splitAnswer([]byte(`{"v":1,"ok":true,"data":{"rows":{"cols":["name"],"rows":[["it"]]}}}`)); ok {
		_, _ = Rows[struct {
			Name string `json:"name"`
		}](res, "rows")
	}
	for _, h := range p {
		h.rehearse()
	}
}

// rehearseTypes decodes and encodes an empty value of a tool's types. A method of
// theirs that can't take one is not at fault.
func rehearseTypes[In, Out any]() {
	defer func() { _ = recover() }()
	var in In
	var out Out
	_ = json.Unmarshal([]byte("{}"), &in)
	_, _ = json.Marshal(out)
}
