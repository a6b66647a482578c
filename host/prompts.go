package host

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// A PromptDef is one prompt as clients see it.
type PromptDef struct {
	Name        string // as listed, such as tracker_triage
	Dotted      string // "connector.prompt"
	Title       string
	Description string
	Arguments   []abi.PromptArgument
}

// A prompt is what prompts/get names.
type prompt struct {
	PromptDef
	conn  *connector
	parts []release.PromptPart
}

func newPrompt(conn *connector, def *abi.Prompt) (*prompt, error) {
	parts, fault := release.PromptParts(def.Text)
	if fault != "" {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "load", "prompt %q: %s", def.Name, fault)
	}
	return &prompt{conn: conn, parts: parts, PromptDef: PromptDef{
		Name: conn.def.ID + "_" + def.Name, Dotted: conn.def.ID + "." + def.Name,
		Title: def.Title, Description: def.Description, Arguments: def.Arguments,
	}}, nil
}

// Prompts lists the prompts that a client may see, sorted by name.
func (h *Host) Prompts(_ context.Context, _ Principal) []PromptDef {
	cat := h.catalog.Load()
	list := make([]PromptDef, 0, len(cat.prompts))
	for _, p := range cat.prompts {
		list = append(list, p.PromptDef)
	}
	slices.SortFunc(list, func(a, b PromptDef) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Prompt returns the text of a listed prompt with its arguments put in. It fails
// with not_found or invalid_args.
func (h *Host) Prompt(_ context.Context, _ Principal, name string, args map[string]string) (PromptDef, string, error) {
	p, ok := h.catalog.Load().prompts[name]
	if !ok {
		return PromptDef{}, "", abi.Errorf(abi.ErrNotFound, "", "no prompt %.128q is installed", name)
	}
	if err := p.check(args); err != nil {
		return PromptDef{}, "", err
	}
	return p.PromptDef, p.text(args), nil
}

// check refuses arguments that the prompt doesn't have, needs, or can't hold.
func (p *prompt) check(args map[string]string) error {
	for name := range args {
		if !slices.ContainsFunc(p.Arguments, func(a abi.PromptArgument) bool { return a.Name == name }) {
			return abi.Errorf(abi.ErrInvalidArgs, "", "prompt %q has no argument %.64q", p.Name, name)
		}
	}
	for _, a := range p.Arguments {
		v, given := args[a.Name]
		switch {
		case !given && a.Required:
			return abi.Errorf(abi.ErrInvalidArgs, "", "argument %q is missing", a.Name)
		case !given:
		case len(v) > abi.MaxPromptValue || !utf8.ValidString(v):
			return abi.Errorf(abi.ErrInvalidArgs, "", "argument %q is not text of at most %d bytes", a.Name, abi.MaxPromptValue)
		case len(a.OneOf) > 0 && !slices.Contains(a.OneOf, v):
			return abi.Errorf(abi.ErrInvalidArgs, "", "argument %q is %.64q, and none of %s", a.Name, v, strings.Join(a.OneOf, ", "))
		}
	}
	return nil
}

// text puts the arguments in, in one pass: what stands in a value is never read as
// an argument. A value stands in quotes on the line where its place is, with what
// could end the quotes or the line, or can't be seen, written as an escape; so it
// can't go on as if it were the prompt.
func (p *prompt) text(args map[string]string) string {
	var b strings.Builder
	for _, part := range p.parts {
		switch v, given := args[part.Arg]; {
		case part.Arg == "":
			b.WriteString(part.Text)
		case !given:
			b.WriteString("(not given)")
		default:
			b.WriteString(quoted(v))
		}
	}
	return b.String()
}

func quoted(s string) string {
	return `"` + strings.ReplaceAll(redact.Visible(s), `"`, `\"`) + `"`
}
