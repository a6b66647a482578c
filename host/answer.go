package host

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// encode marshals an answer and keeps it within its limit.
func encode(ans *abi.Answer) ([]byte, error) {
	rest := *ans
	rest.Data = nil
	out, err := json.Marshal(&rest)
	if err != nil {
		return nil, err
	}
	out = withData(out, ans.Data)
	if len(out) > abi.MaxAnswer {
		e := abi.Errorf(abi.ErrLimitExceeded, "answer", "%d bytes are more than %d: ask for fewer rows or columns", len(out), abi.MaxAnswer)
		return json.Marshal(&abi.Answer{Step: ans.Step, Error: e.Data()})
	}
	return out, nil
}

// withData adds the member data to an answer, a JSON object with members. The
// values are JSON already, and long; encoding/json would read each once more.
func withData(answer []byte, data map[string]json.RawMessage) []byte {
	if len(data) == 0 {
		return answer
	}
	out := append(answer[:len(answer)-1], `,"data":{`...)
	for i, name := range slices.Sorted(maps.Keys(data)) {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			panic("BUG: a string is not JSON: " + err.Error())
		}
		out = append(append(append(out, key...), ':'), data[name]...)
	}
	return append(out, "}}"...)
}
