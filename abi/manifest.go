package abi

import "encoding/json"

// A Manifest is plugin.yaml: what an author writes. [Release] is what it
// becomes. Field names in YAML are the JSON names below.
type Manifest struct {
	Name        string      `json:"name"`                  // [a-z][a-z0-9-]{0,40}
	Version     string      `json:"version"`               // semantic version without a leading v
	Category    Category    `json:"category"`              //
	Title       string      `json:"title"`                 // one line, for people
	Description string      `json:"description"`           // at most 1 KiB
	License     string      `json:"license,omitempty"`     // SPDX expression
	Homepage    string      `json:"homepage,omitempty"`    // https URL
	Source      Source      `json:"source,omitzero"`       // where the code is
	Connectors  []Connector `json:"connectors,omitempty"`  // for category connector, at least one
	Maintainers []string    `json:"maintainers,omitempty"` // names, for people
}

// A Category says what kind of installable a plugin is. This host runs
// connectors and lists the rest.
type Category string

// The categories.
const (
	CategoryConnector    Category = "connector"
	CategoryPipelineNode Category = "pipeline-node"
	CategoryMCPServer    Category = "mcp-server"
	CategoryTool         Category = "tool"
	CategoryOther        Category = "other"
)

// Source tells where a plugin's code is. It is shown, never fetched.
type Source struct {
	Repo   string `json:"repo,omitempty"`   // https URL
	Commit string `json:"commit,omitempty"` // full object id
}

// A Connector is one web system: where it may go, how its pages look, and the
// tools it offers.
type Connector struct {
	ID          string     `json:"id"` // [a-z][a-z0-9]{0,20}; first part of its tools' names
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Settings    []Setting  `json:"settings,omitempty"`
	BaseURL     string     `json:"base_url"`            // "{setting}" or an http(s) URL; relative paths resolve against it
	Origins     []string   `json:"origins"`             // match patterns or "{setting}/*": navigated to, read, fetched from
	Resources   []string   `json:"resources,omitempty"` // match patterns or "{setting}/path/*": what the page itself may load by GET, never readable by the connector
	Login       *Login     `json:"login,omitempty"`
	Pages       Pages      `json:"pages"`
	Account     *Account   `json:"account,omitempty"`
	Health      *Health    `json:"health,omitempty"`
	Tab         TabMode    `json:"tab,omitempty"`        // default own
	Activation  Activation `json:"activation,omitempty"` // default always
	Tools       []Tool     `json:"tools"`
	Prompts     []Prompt   `json:"prompts,omitempty"`
}

// A TabMode says which tab a connector works in.
type TabMode string

// TabOwn is a background tab of the host's own, the only mode so far.
const TabOwn TabMode = "own"

// Activation says when a connector's tools are listed.
type Activation string

// The activations.
const (
	ActivationAlways   Activation = "always"
	ActivationWhenOpen Activation = "when-open"
)

// A Setting is a value the user gives once per installation, such as the
// address of a self-hosted system. A template "{name}" in BaseURL, Origins,
// Resources and Login stands for a setting of type url.
type Setting struct {
	Name        string      `json:"name"` // [a-z][a-z0-9_]{0,30}
	Type        SettingType `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Default     string      `json:"default,omitempty"`
	Required    bool        `json:"required,omitempty"`
}

// A SettingType is one of a closed set. There is no secret type: secrets never
// reach a guest.
type SettingType string

// The setting types.
const (
	SettingURL     SettingType = "url" // http(s) URL without query and fragment; its origin is what is granted
	SettingString  SettingType = "string"
	SettingInteger SettingType = "integer"
	SettingBoolean SettingType = "boolean"
)

// Login says how a user signs in. The host drives it; a guest never sees it.
type Login struct {
	Path     string     `json:"path"`               // page that shows or leads to the login form
	Origins  []string   `json:"origins,omitempty"`  // identity providers that redirects may pass through
	Callback *Callback  `json:"callback,omitempty"` // where an identity provider sends the user back to
	Form     *LoginForm `json:"form,omitempty"`     // for login without a visible browser
}

// A Callback is the one request on the connector's own origin that an identity
// provider may cause, by redirect or cross-origin form_post.
type Callback struct {
	Method string `json:"method"` // GET or POST
	Path   string `json:"path"`
}

// LoginForm names the fields that the host types into. Where a site asks for the
// name on one page and for the password on the next, Next leads from the one to
// the other.
type LoginForm struct {
	Username string `json:"username"`       // selector
	Next     string `json:"next,omitempty"` // selector; absent where one page has both fields
	Password string `json:"password"`       // selector
	Submit   string `json:"submit"`         // selector
}

// Pages says how a page is recognised. A list holds if any condition in it
// holds. The host looks in the order SignedOut, Forbidden, Missing, SignedIn;
// a page that is none of them within the deadline is selector_drift.
type Pages struct {
	SignedIn  []Condition `json:"signed_in"`
	SignedOut []Condition `json:"signed_out"`
	Forbidden []Condition `json:"forbidden,omitempty"`
	Missing   []Condition `json:"missing,omitempty"`
}

// A Condition holds if everything that it gives holds.
type Condition struct {
	Selector string `json:"selector,omitempty"` // an element matches
	Absent   string `json:"absent,omitempty"`   // no element matches
	Origin   string `json:"origin,omitempty"`   // the page's origin, "{setting}" allowed
	Path     string `json:"path,omitempty"`     // the page's path equals this, or starts with what stands before a final *
	Title    string `json:"title,omitempty"`    // the title contains this
	Text     string `json:"text,omitempty"`     // the text of Selector (or of body) contains this
	Status   int    `json:"status,omitempty"`   // the document's HTTP status
}

// Account says which element names the signed-in account; approvals are bound
// to it.
type Account struct {
	Selector string `json:"selector"`
	Attr     string `json:"attr,omitempty"` // default: its text
}

// Health is a page whose signed-in condition shows that a connector works.
type Health struct {
	Path string `json:"path"`
}

// A Tool is one operation. Absent Destructive means destructive.
type Tool struct {
	Name         string          `json:"name"` // [a-z][a-z0-9_]*; with the connector's id and _ at most MaxToolName
	Title        string          `json:"title"`
	Description  string          `json:"description"` // at most 1 KiB; reaches models
	Input        json.RawMessage `json:"input"`       // JSON Schema 2020-12, type object
	Output       json.RawMessage `json:"output"`      // JSON Schema 2020-12, type object
	Destructive  *bool           `json:"destructive,omitempty"`
	Idempotent   bool            `json:"idempotent,omitempty"` // a hint for clients, nothing else
	Capabilities []Capability    `json:"capabilities"`
	Reads        []Request       `json:"reads"`
	Writes       []Request       `json:"writes,omitempty"`      // only if destructive
	TimeoutSec   int             `json:"timeout_sec,omitempty"` // default 60, at most 120
	MaxResult    int             `json:"max_result,omitempty"`  // bytes of a result that a client is to get at once; default MinClientResult, at most MaxClientResult
	Values       []ToolValues    `json:"values,omitempty"`      // where arguments can take their values from
}

// ToolValues says where one argument of a tool can take its values from, so that a
// client can complete it. It limits nothing; that is the input schema's part, whose
// enums need no entry here.
type ToolValues struct {
	Arg  string `json:"arg"` // a property of the input schema
	From Column `json:"from"`
}

// A Column is the values that a tool of the same connector returns in one field of
// a list of objects. The tool only reads, and needs no arguments.
type Column struct {
	Tool   string `json:"tool"`   // its name, without the connector's id
	Column string `json:"column"` // "issues.id": the list's property in its output, and the field's
}

// A Prompt is text that a client offers its user to begin with. It is text alone:
// it runs nothing, and what it makes a model do is refused or asked for as ever.
type Prompt struct {
	Name        string           `json:"name"` // like a tool's, and no tool's of this connector
	Title       string           `json:"title"`
	Description string           `json:"description"` // at most 1 KiB
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Text        string           `json:"text"` // at most 4 KiB; "{name}" stands for an argument, which goes there in quotes, on one line
}

// A PromptArgument is one value that the user gives. It is a text of at most
// MaxPromptValue bytes.
type PromptArgument struct {
	Name        string   `json:"name"` // [a-z][a-z0-9_]{0,30}; stands in the prompt's text
	Description string   `json:"description"`
	Required    bool     `json:"required,omitempty"`
	OneOf       []string `json:"one_of,omitempty"` // then it is one of these
	From        *Column  `json:"from,omitempty"`   // or is completed from these
}

// IsDestructive reports whether a call needs the gate's consent.
func (t *Tool) IsDestructive() bool { return t.Destructive == nil || *t.Destructive }

// A Capability is the name of one import in [Namespace].
type Capability string

// The capabilities of ABI version 1.
const (
	CapRead       Capability = "read"       // navigate, wait, extract, exists, page, html, snapshot
	CapAct        Capability = "act"        // click, fill, select, check, press, and read steps between them
	CapFetch      Capability = "fetch"      // same-origin requests with the page's cookies
	CapProgress   Capability = "progress"   // tell the caller how far the call is
	CapScreenshot Capability = "screenshot" // pictures of the page for the caller, and read steps between them
)

// Capabilities lists every capability.
func Capabilities() []Capability {
	return []Capability{CapAct, CapFetch, CapProgress, CapRead, CapScreenshot}
}
