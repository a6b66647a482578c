package mantis

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Write is a request that was taken.
type Write struct {
	Action string
	Path   string
	Fields []Field
}

// A Field is one field of a form.
type Field struct{ Name, Value string }

// Value is the value of a field, or "".
func (w Write) Value(name string) string {
	for _, f := range w.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// post takes what a record allows.
func (x *exchange) post() {
	if strings.HasPrefix(x.r.URL.Path, "/api/rest/") {
		x.other()
		return
	}
	media, fields, err := readForm(x.r)
	if err != nil {
		x.refuse("the body can't be read: %v", err)
		return
	}
	if !x.signedIn {
		x.refuse("nobody is signed in")
		return
	}
	why := errors.New("no such request is recorded")
	for _, rec := range x.pages.records {
		err := rec.match(x.r, media, fields)
		if err == nil {
			x.take(Write{Action: rec.Action, Path: rec.Path, Fields: fields})
			return
		}
		if rec.Path == x.r.URL.Path {
			why = err
		}
	}
	x.refuse("%v", why)
}

func (rec Record) match(r *http.Request, media string, fields []Field) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	switch {
	case r.Method != rec.Method || r.URL.Path != rec.Path || r.URL.RawQuery != "":
		return errors.New("another method, path or query")
	case media != rec.Encoding:
		return errors.New("the encoding is " + media + ", not " + rec.Encoding)
	case !slices.Equal(names, rec.Fields):
		return errors.New("the fields are " + strings.Join(names, " ") + ", not " + strings.Join(rec.Fields, " "))
	}
	for _, f := range fields {
		if want, ok := rec.Fixed[f.Name]; ok && f.Value != want {
			return errors.New(f.Name + " is " + f.Value + ", not " + want)
		}
	}
	return nil
}

// readForm keeps the order of the fields, which net/http does not.
func readForm(r *http.Request) (media string, fields []Field, err error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", nil, err
	}
	if media != "multipart/form-data" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", nil, err
		}
		fields, err = pairs(string(body))
		return media, fields, err
	}
	for m := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := m.NextPart()
		if errors.Is(err, io.EOF) {
			return media, fields, nil
		}
		if err != nil {
			return "", nil, err
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return "", nil, err
		}
		if part.FileName() != "" || part.FormName() == "ufile[]" {
			return "", nil, errors.New("a file is none of the recorded fields")
		}
		fields = append(fields, Field{Name: part.FormName(), Value: string(value)})
	}
}

func pairs(body string) ([]Field, error) {
	var out []Field
	for p := range strings.SplitSeq(body, "&") {
		name, value, _ := strings.Cut(p, "=")
		n, err := url.QueryUnescape(name)
		v, verr := url.QueryUnescape(value)
		if err := cmp.Or(err, verr); err != nil {
			return nil, err
		}
		out = append(out, Field{Name: n, Value: v})
	}
	return out, nil
}

// take checks what a form of MantisBT is checked for, and changes the bug.
func (x *exchange) take(w Write) {
	if w.Path == "/bug_change_status_page.php" {
		x.statusPage(w)
		return
	}
	form := strings.TrimSuffix(strings.TrimPrefix(w.Path, "/"), ".php")
	if !x.spend(form, w.Value(form+"_token")) {
		x.refuse("the token is not one of this form")
		return
	}
	if w.Path == "/bug_report.php" {
		x.create(w)
		return
	}
	id, _ := strconv.Atoi(w.Value("bug_id"))
	b := x.bug(id)
	switch {
	case b == nil:
		x.fault(http.StatusNotFound, 1100, "Issue "+escape(w.Value("bug_id"))+" not found.")
		return
	case w.Value("last_updated") != "" && w.Value("last_updated") != b.stamp:
		x.fault(http.StatusInternalServerError, 1105, "This issue has been updated by another user, please return to the issue and submit your changes again.")
		return
	}
	switch w.Path {
	case "/bugnote_add.php":
		b.notes = append(b.notes, newNote{ID: x.nextNote, Author: x.user.Login, Text: w.Value("bugnote_text")})
		x.nextNote++
	case "/bug_update.php":
		if !x.update(b, w) {
			return
		}
	default:
		x.refuse("no connector is meant to send it")
		return
	}
	b.stamp += "1"
	x.taken = append(x.taken, w)
	x.redirect("/view.php?id=" + strconv.Itoa(id))
}

func (x *exchange) update(b *change, w Write) bool {
	if status := w.Value("status"); status != "" {
		name, ok := x.pages.statuses[status]
		if !ok {
			x.refuse("no status %q", status)
			return false
		}
		b.status, b.statusName = status, name
	}
	if r := w.Value("resolution"); r != "" {
		b.resolution = x.pages.resolutions[r]
	}
	if h := w.Value("handler_id"); h != "" {
		login, ok := x.pages.handlers[h]
		if !ok {
			x.refuse("no handler %q", h)
			return false
		}
		b.handlerSet, b.handlerID, b.handler = true, h, login
	}
	if w.Value("action_type") == "assign" && w.Value("handler_id") != "0" {
		b.status, b.statusName = "50", x.pages.statuses["50"]
	}
	return true
}

func (x *exchange) create(w Write) {
	if _, ok := x.pages.projectNames[w.Value("project_id")]; !ok || strings.TrimSpace(w.Value("summary")) == "" {
		x.fault(http.StatusBadRequest, 11, `A necessary field "Summary" was empty. Please recheck your inputs.`)
		return
	}
	id := x.nextBug
	x.nextBug++
	x.pages.views[id] = x.pages.newView(id, w, x.user.Login)
	x.taken = append(x.taken, w)
	x.redirect("/view.php?id=" + strconv.Itoa(id))
}
