//go:build !wasip1

package sdk

// A Host plays the host outside WASM, for tests. Requests and answers are JSON,
// as package abi describes them.
type Host interface {
	Read(program []byte) (answer []byte)
	Act(program []byte) (answer []byte)
	Screenshot(program []byte) (answer []byte)
	Fetch(request []byte) (answer []byte)
	Progress(report []byte) (answer []byte)
	Log(message string)
}

// A hostLink leads to the host.
type hostLink struct{ host Host }

func (l hostLink) read(b []byte) []byte       { return l.host.Read(b) }
func (l hostLink) act(b []byte) []byte        { return l.host.Act(b) }
func (l hostLink) screenshot(b []byte) []byte { return l.host.Screenshot(b) }
func (l hostLink) fetch(b []byte) []byte      { return l.host.Fetch(b) }
func (l hostLink) progress(b []byte) []byte   { return l.host.Progress(b) }
func (l hostLink) log(message string)         { l.host.Log(message) }

// Call is the export call. Outside WASM nothing calls it: it returns 1.
func (p Plugin) Call() int32 { return 1 }

// Describe is the export describe. Outside WASM nothing calls it: it returns 1.
func (p Plugin) Describe() int32 { return 1 }

// ServeWith answers one call with host behind it. Package sdktest wraps it.
func (p Plugin) ServeWith(host Host, input []byte) []byte {
	return p.serve(hostLink{host: host}, input)
}
