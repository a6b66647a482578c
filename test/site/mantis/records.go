package mantis

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// A Record is a request by which a real MantisBT changed something, or showed a
// form for it.
type Record struct {
	Action   string // what was done
	Method   string
	Path     string
	Encoding string   // media type of the body
	Fields   []string // names, in order
	Fixed    map[string]string
}

// fixed are the fields whose value says what the request does; the others'
// values are those of one bug.
func fixed() []string { return []string{"action_type", "change_type", "action", "_confirmed", "m_id"} }

// parseRecords reads the actions of a recording. Only forms are records: what was
// sent as JSON, or by GET, is not what a form sends.
func parseRecords(data []byte) ([]Record, error) {
	var file struct {
		Actions []struct {
			Name     string `json:"name"`
			Requests []struct {
				Method      string   `json:"method"`
				URL         string   `json:"url"`
				ContentType string   `json:"contentType"`
				Fields      []string `json:"fields"`
				Status      int      `json:"status"`
			} `json:"requests"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	var out []Record
	for _, a := range file.Actions {
		for _, q := range a.Requests {
			if q.Method != "POST" || q.Status >= 400 || len(q.Fields) == 0 {
				continue
			}
			u, err := url.Parse(q.URL)
			if err != nil {
				return nil, fmt.Errorf("reading the records: %w", err)
			}
			media, _, err := mime.ParseMediaType(q.ContentType)
			if err != nil {
				return nil, fmt.Errorf("reading the records of %q: %w", a.Name, err)
			}
			r := Record{Action: a.Name, Method: q.Method, Path: u.Path, Encoding: media, Fixed: map[string]string{}}
			for _, f := range q.Fields {
				name, value, _ := strings.Cut(f, "=")
				r.Fields = append(r.Fields, name)
				for _, n := range fixed() {
					if n == name {
						r.Fixed[n] = value
					}
				}
			}
			out = append(out, r)
		}
	}
	return out, nil
}
