package control

import (
	"encoding/json"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// headerSurroundings carries a command's Surroundings as a JSON object.
const headerSurroundings = "Drawbridge-Surroundings"

// maxSurroundings bounds that header; a server reads no more than 16 KiB of all.
const maxSurroundings = 8 << 10

// Surroundings are variables of a command's environment, by name, that say how
// its user reaches a display, an ssh agent and the web. A daemon that an MCP
// client or the system started has none or others.
type Surroundings map[string]string

// put adds them to a request, unless they are too long: they are a help, and
// nothing depends on them.
func (s Surroundings) put(h http.Header) {
	if len(s) == 0 {
		return
	}
	if data, err := json.Marshal(s); err == nil && len(data) <= maxSurroundings {
		h.Set(headerSurroundings, string(data))
	}
}

// surroundings reads them; what is malformed is none.
func surroundings(h http.Header) Surroundings {
	var s Surroundings
	text := h.Get(headerSurroundings)
	if text == "" || strictjson.Decode([]byte(text), &s, strictjson.MaxBytes(maxSurroundings), strictjson.AnyText()) != nil {
		return nil
	}
	return s
}

// around gives a method's context what the command's surroundings mean to it.
func (s *Server) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if env := surroundings(r.Header); s.Around != nil && env != nil {
			r = r.WithContext(s.Around(r.Context(), env))
		}
		next.ServeHTTP(w, r)
	})
}
