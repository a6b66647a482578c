package site

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	bigRows = 3000     // rows of /issues/big
	bigBody = 16 << 20 // bytes of /big, unless ?size= says otherwise
)

// trapRoutes are answers that are slow, endless, big, or not a page at all.
func (s *Site) trapRoutes(mux *http.ServeMux) {
	mux.HandleFunc("/hang", hang)
	mux.HandleFunc("GET /slow", slow)
	mux.HandleFunc("GET /big", big)
	mux.HandleFunc("/go", redirect)
	mux.Handle("GET /loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.HandleFunc("GET /status/{code}", s.anyStatus)
	mux.HandleFunc("GET /basic", basic)
	mux.HandleFunc("GET /download/issues.csv", s.signedIn(s.download))
	mux.HandleFunc("GET /ws", s.handleWS)
}

// hang never answers; it ends with the request.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the browser leaves
	<-r.Context().Done()
}

// slow answers after ?ms= milliseconds, at most a minute.
func slow(w http.ResponseWriter, r *http.Request) {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	if err != nil || ms < 0 || ms > 60_000 {
		http.Error(w, "ms is a number up to 60000", http.StatusBadRequest)
		return
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		fmt.Fprintf(w, "answered after %d ms\n", ms)
	case <-r.Context().Done():
	}
}

// big sends text of ?size= bytes (16 MiB), at most 1 GiB.
func big(w http.ResponseWriter, r *http.Request) {
	size := bigBody
	if text := r.URL.Query().Get("size"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1<<30 {
			http.Error(w, "size is a number of bytes up to 1 GiB", http.StatusBadRequest)
			return
		}
		size = n
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(size))
	chunk := []byte(strings.Repeat("0123456789abcde\n", 4096))
	for size > 0 {
		n, err := w.Write(chunk[:min(size, len(chunk))])
		if err != nil {
			return
		}
		size -= n
	}
}

// redirect is the open redirect /go?to=URL&status=302 that real sites have.
func redirect(w http.ResponseWriter, r *http.Request) {
	status := http.StatusFound
	switch r.URL.Query().Get("status") {
	case "301":
		status = http.StatusMovedPermanently
	case "303":
		status = http.StatusSeeOther
	case "307":
		status = http.StatusTemporaryRedirect
	case "308":
		status = http.StatusPermanentRedirect
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", r.URL.Query().Get("to"))
	w.WriteHeader(status)
}

func (s *Site) anyStatus(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.PathValue("code"))
	if err != nil || code < 200 || code > 599 {
		s.fail(w, r, http.StatusNotFound, "Not found", "There is no such status.")
		return
	}
	if code == http.StatusNoContent || code == http.StatusNotModified {
		w.WriteHeader(code)
		return
	}
	s.fail(w, r, code, "Status "+strconv.Itoa(code), http.StatusText(code))
}

// basic asks for a password by the browser's own dialog; tracker/tracker is right.
func basic(w http.ResponseWriter, r *http.Request) {
	if user, pass, ok := r.BasicAuth(); !ok || user != "tracker" || pass != "tracker" {
		w.Header().Set("WWW-Authenticate", `Basic realm="tracker"`)
		http.Error(w, "password needed", http.StatusUnauthorized)
		return
	}
	fmt.Fprintln(w, "hello")
}

func (s *Site) download(w http.ResponseWriter, r *http.Request) {
	sess, _ := sessionOf(r)
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="issues.csv"`)
	fmt.Fprintln(w, "id,status")
	for _, is := range s.visible(sess.user) {
		fmt.Fprintf(w, "%d,%s\n", is.ID, is.Status)
	}
}

// visible lists what u may see.
func (s *Site) visible(u User) []Issue {
	return s.store.list(func(is *Issue) bool { return is.visibleTo(u) })
}

// handleBigList is a table of 3,000 rows: the data set over and over.
func (s *Site) handleBigList(w http.ResponseWriter, r *http.Request) {
	sess, _ := sessionOf(r)
	all := s.visible(sess.user)
	rows := make([]Issue, 0, bigRows)
	for n := range bigRows {
		is := Issue{Title: "Row", Status: "new"}
		if len(all) > 0 {
			is = all[n%len(all)]
		}
		is.ID = n + 1
		rows = append(rows, is)
	}
	s.render(w, r, http.StatusOK, "list", page{Title: "All issues", List: &listPage{Issues: rows, Total: bigRows, Page: 1}})
}
