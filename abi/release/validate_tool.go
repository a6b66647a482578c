package release

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
)

func (c *checker) tools(path string, con *abi.Connector, g *grants) {
	c.count(path, len(con.Tools), 1, abi.MaxTools)
	names := map[string]bool{}
	for i := range con.Tools {
		at := fmt.Sprintf("%s[%d]", path, i)
		name := con.Tools[i].Name
		if names[name] {
			c.addf(at+".name", "%q stands there twice", shorten(name))
		}
		names[name] = true
		c.tool(at, con, &con.Tools[i], g)
	}
}

func (c *checker) tool(path string, con *abi.Connector, t *abi.Tool, g *grants) {
	c.match(path+".name", t.Name, `[a-z][a-z0-9]*(_[a-z0-9]+)*`)
	if full := con.ID + "_" + t.Name; len(full) > abi.MaxToolName {
		c.addf(path+".name", "%q is longer than %d bytes with the connector's id", shorten(full), abi.MaxToolName)
	}
	c.line(path+".title", t.Title)
	c.text(path+".description", t.Description, maxDescription)
	input := c.schema(path+".input", t.Input)
	c.schema(path+".output", t.Output)
	if t.MaxResult != 0 && (t.MaxResult < abi.MinClientResult || t.MaxResult > abi.MaxClientResult) {
		c.addf(path+".max_result", "%d is not between %d and %d", t.MaxResult, abi.MinClientResult, abi.MaxClientResult)
	}
	if t.TimeoutSec < 0 || t.TimeoutSec > int(abi.MaxCallTimeout.Seconds()) {
		c.addf(path+".timeout_sec", "%d is not between 0 and %d", t.TimeoutSec, int(abi.MaxCallTimeout.Seconds()))
	}
	c.capabilities(path, t)
	c.toolValues(path, con, t, input)
	c.count(path+".reads", len(t.Reads), 0, maxList)
	for i := range t.Reads {
		c.request(&requestCheck{path: fmt.Sprintf("%s.reads[%d]", path, i), args: input, grants: g}, &t.Reads[i])
	}
	c.count(path+".writes", len(t.Writes), 0, maxList)
	for i := range t.Writes {
		c.request(&requestCheck{path: fmt.Sprintf("%s.writes[%d]", path, i), args: input, grants: g, write: true}, &t.Writes[i])
	}
}

// Schema returns nil where the schema can't be used.
func (c *checker) schema(path string, raw []byte) *Schema {
	if len(raw) == 0 {
		c.addf(path, "missing")
		return nil
	}
	s, problem := compileSchema(raw)
	if problem != nil {
		c.addf(path+strings.TrimPrefix(problem.Path, "$"), "%s", problem.Msg)
		return nil
	}
	return s
}

// Capabilities have to agree with what the tool says it does.
func (c *checker) capabilities(path string, t *abi.Tool) {
	at := path + ".capabilities"
	seen := map[abi.Capability]bool{}
	for i, name := range t.Capabilities {
		switch {
		case !slices.Contains(abi.Capabilities(), name):
			c.addf(fmt.Sprintf("%s[%d]", at, i), "%q is no capability", shorten(string(name)))
		case seen[name]:
			c.addf(fmt.Sprintf("%s[%d]", at, i), "%q stands there twice", name)
		}
		seen[name] = true
	}
	opens := seen[abi.CapRead] || seen[abi.CapAct] || seen[abi.CapScreenshot]
	reaches := opens || seen[abi.CapFetch]
	if pictures := hasImage(t.Output); pictures != seen[abi.CapScreenshot] {
		c.addf(path+".output", "a tool with screenshot, and no other, says where its pictures stand: at strings of format image")
	}
	switch {
	case len(t.Reads) > 0 && !reaches:
		c.addf(at, "the tool lists reads and has none of read, act, screenshot and fetch")
	case len(t.Reads) == 0 && opens:
		c.addf(path+".reads", "missing: the tool has read, act or screenshot, and could open no page")
	case len(t.Reads) == 0 && len(t.Writes) == 0 && seen[abi.CapFetch]:
		c.addf(path+".reads", "missing: the tool has fetch, and could fetch nothing")
	}
	switch {
	case !t.IsDestructive() && len(t.Writes) > 0:
		c.addf(path+".writes", "a tool with writes is destructive")
	case t.IsDestructive() && len(t.Writes) == 0:
		c.addf(path+".writes", "missing: the tool is destructive (say destructive: false if it only reads)")
	case len(t.Writes) > 0 && !seen[abi.CapAct] && !seen[abi.CapFetch]:
		c.addf(at, "the tool lists writes and has neither act nor fetch")
	}
}

// hasImage reports whether a schema has a string of format image.
func hasImage(schema []byte) bool {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return false // whoever reads it says so
	}
	return walkImage(v)
}

func walkImage(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, walkImage)
	case map[string]any:
		if v["format"] == "image" && v["type"] == "string" {
			return true
		}
		for _, sub := range v {
			if walkImage(sub) {
				return true
			}
		}
	}
	return false
}

// A requestCheck is what a request's rules depend on.
type requestCheck struct {
	path   string
	args   *Schema // nil if it is not known: then arguments are not checked
	grants *grants
	write  bool
}

func (c *checker) request(rc *requestCheck, r *abi.Request) {
	methods := []string{"GET", "HEAD", "POST"}
	if rc.write {
		methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	}
	if !slices.Contains(methods, r.Method) {
		c.addf(rc.path+".method", "%q is none of %s", shorten(r.Method), strings.Join(methods, ", "))
	}
	if r.Origin != "" && c.originOf(rc.path+".origin", r.Origin, rc.grants) && !rc.grants.granted(r.Origin) {
		c.addf(rc.path+".origin", "%q is not covered by origins", shorten(r.Origin))
	}
	c.pathTemplate(rc, r)
	c.params(rc, "query", r.Query)
	c.params(rc, "fields", r.Fields)
	c.body(rc, r)
	switch {
	case !rc.write && r.Max != 0:
		c.addf(rc.path+".max", "only writes are counted")
	case r.Max < 0 || r.Max > maxList:
		c.addf(rc.path+".max", "%d is not between 1 and %d", r.Max, maxList)
	}
	switch {
	case r.Dialog != "" && r.Dialog != abi.DialogCancel && r.Dialog != abi.DialogAccept:
		c.addf(rc.path+".dialog", "%q is neither cancel nor accept", shorten(string(r.Dialog)))
	case r.Dialog == abi.DialogAccept && !rc.write:
		c.addf(rc.path+".dialog", "only a write may have a dialog accepted")
	}
}

func (c *checker) body(rc *requestCheck, r *abi.Request) {
	switch r.Encoding {
	case "", abi.EncodingNone:
		if len(r.Fields) > 0 {
			c.addf(rc.path+".encoding", "missing: the request has fields")
		}
	case abi.EncodingURLEncoded, abi.EncodingMultipart, abi.EncodingJSON:
		if r.Method == "GET" || r.Method == "HEAD" {
			c.addf(rc.path+".encoding", "a %s request has no body", r.Method)
		}
	default:
		c.addf(rc.path+".encoding", "%q is none of none, urlencoded, multipart and json", shorten(string(r.Encoding)))
	}
}

// PathTemplate checks the path and that its parameters are exactly Params.
func (c *checker) pathTemplate(rc *requestCheck, r *abi.Request) {
	at := rc.path + ".path"
	names, fault := templateNames(r.Path)
	if fault != "" {
		c.addf(at, "%q: %s", shorten(r.Path), fault)
		return
	}
	before := len(c.problems)
	c.count(rc.path+".params", len(r.Params), 0, maxList)
	given := map[string]bool{}
	for i := range r.Params {
		p := &r.Params[i]
		pp := fmt.Sprintf("%s.params[%d]", rc.path, i)
		switch {
		case !slices.Contains(names, p.Name):
			c.addf(pp+".name", "the path has no {%s}", shorten(p.Name))
		case given[p.Name]:
			c.addf(pp+".name", "%q stands there twice", shorten(p.Name))
		}
		given[p.Name] = true
		c.param(rc, pp, p)
		c.pathParam(rc, pp, p)
	}
	for _, name := range names {
		if !given[name] {
			c.addf(rc.path+".params", "missing: {%s} of the path", shorten(name))
		}
	}
	if len(c.problems) == before {
		c.literalPath(at, r)
	}
}

// LiteralPath holds the template against what browsers and servers make of it.
func (c *checker) literalPath(path string, r *abi.Request) {
	if _, err := origin.ParseTemplate(r.Path, r.Params); err != nil {
		c.addf(path, "%v", err)
	}
	switch {
	case strings.Contains(r.Path, "*"):
		c.addf(path, "%q: a template has no wildcards", shorten(r.Path))
	case hiddenText(r.Path) != "":
		c.addf(path, "%s", hiddenText(r.Path))
	}
}

// PathParam refuses what makes no sense in a path.
func (c *checker) pathParam(rc *requestCheck, path string, p *abi.Param) {
	switch {
	case p.Token || p.Empty || p.Optional:
		c.addf(path, "a path parameter is neither token, empty nor optional")
	case p.Const != nil && (*p.Const == "" || strings.ContainsAny(*p.Const, "/\\?#;%") || isDotSegment(*p.Const)):
		c.addf(path+".const", "%q is not a path segment", shorten(*p.Const))
	case p.Any == abi.ValueText && rc.write:
		c.addf(path+".any", "text is too wide for a path that is written to")
	}
}

// Params checks query parameters or body fields.
func (c *checker) params(rc *requestCheck, list string, params []abi.Param) {
	at := rc.path + "." + list
	c.count(at, len(params), 0, maxList)
	seen := map[string]bool{}
	for i := range params {
		p := &params[i]
		pp := fmt.Sprintf("%s[%d]", at, i)
		if seen[p.Name] {
			c.addf(pp+".name", "%q stands there twice", shorten(p.Name))
		}
		seen[p.Name] = true
		names, fault := templateNames(p.Name)
		if strings.Contains(p.Name, abi.AnyNumber) {
			names, fault = numberedField(list, p)
		}
		switch {
		case p.Name == "" || len(p.Name) > maxShortText || hiddenText(p.Name) != "":
			c.addf(pp+".name", "%q is not a name", shorten(p.Name))
		case fault != "":
			c.addf(pp+".name", "%q: %s", shorten(p.Name), fault)
		}
		for _, arg := range names {
			c.argument(rc, pp+".name", arg)
		}
		c.param(rc, pp, p)
	}
}

func (c *checker) param(rc *requestCheck, path string, p *abi.Param) {
	kinds := 0
	for _, given := range []bool{p.Arg != "", p.Const != nil, p.Empty, p.Token, p.Any != ""} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		c.addf(path, "exactly one of arg, const, empty, token and any is given, not %d", kinds)
	}
	if p.Arg != "" {
		c.argument(rc, path+".arg", p.Arg)
	}
	if p.Const != nil {
		c.constValue(path+".const", *p.Const)
	}
	switch p.Transform {
	case "":
	case abi.TransformExact, abi.TransformTrimmed, abi.TransformHTML, abi.TransformEditor:
		if p.Arg == "" {
			c.addf(path+".transform", "only an argument is transformed")
		}
	default:
		c.addf(path+".transform", "%q is none of exact, trimmed, html and editor", shorten(string(p.Transform)))
	}
	switch p.Any {
	case "", abi.ValueInt, abi.ValueSlug, abi.ValueHex, abi.ValueText:
	default:
		c.addf(path+".any", "%q is none of int, slug, hex and text", shorten(string(p.Any)))
	}
	switch {
	case p.MaxLen != 0 && p.Any == "":
		c.addf(path+".max_len", "only any has a length")
	case p.MaxLen < 0 || p.MaxLen > abi.MaxBody:
		c.addf(path+".max_len", "%d is not between 1 and %d", p.MaxLen, abi.MaxBody)
	}
}

func (c *checker) constValue(path, s string) {
	if len(s) > maxSelector {
		c.addf(path, "longer than %d bytes", maxSelector)
	}
	if fault := hiddenText(s); fault != "" {
		c.addf(path, "%s", fault)
	}
}

// Argument checks that the tool has an argument that can stand on the wire.
func (c *checker) argument(rc *requestCheck, path, name string) {
	if rc.args == nil {
		return
	}
	types, ok := rc.args.properties[name]
	switch {
	case !ok:
		c.addf(path, "the input schema has no property %q", shorten(name))
	case !onlyScalars(types):
		c.addf(path, "the property %q has to be of type string, integer, number or boolean", shorten(name))
	}
}

func onlyScalars(types []string) bool {
	return len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool {
		return t != "string" && t != "integer" && t != "number" && t != "boolean"
	})
}

// TemplateNames lists the {names} in s, or says what is wrong with it.
func templateNames(s string) (names []string, fault string) {
	for rest := s; ; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			return names, ""
		}
		if rest[i] == '}' {
			return nil, "a brace is not opened"
		}
		name, after, ok := strings.Cut(rest[i+1:], "}")
		switch {
		case !ok:
			return nil, "a brace is not closed"
		case !isName(name):
			return nil, "{" + shorten(name) + "} is not a name"
		case slices.Contains(names, name):
			return nil, "{" + name + "} stands there twice"
		case strings.HasPrefix(after, "{"):
			return nil, "two parameters have nothing between them"
		}
		names, rest = append(names, name), after
	}
}

// NumberedField checks a name that holds [abi.AnyNumber], and returns the
// arguments in it.
func numberedField(list string, p *abi.Param) (names []string, fault string) {
	before, after, _ := strings.Cut(p.Name, abi.AnyNumber)
	switch {
	case list != "fields":
		return nil, "{#} stands in the name of a field only"
	case !p.Optional || p.Const == nil && !p.Empty:
		return nil, "a field with {#} is optional, and either const or empty"
	case strings.HasSuffix(before, "}") || strings.HasPrefix(after, "{"):
		return nil, "two parameters have nothing between them"
	}
	return templateNames(before + "#" + after)
}

func isName(s string) bool {
	for i := range len(s) {
		letter := s[i] == '_' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z'
		if !letter && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != "" && len(s) <= maxPropertyName
}
