package abi

import "time"

// Version is the only ABI version that this package describes.
const Version = 1

// Namespace is the WASM import module of the host calls. Each import name in it
// is one capability.
const Namespace = "drawbridge:host/v1"

// Limits that both sides of the boundary rely on. Configuration may lower them.
const (
	DefaultCallTimeout = 60 * time.Second  // one tool call
	MaxCallTimeout     = 120 * time.Second // the most a tool may ask for
	NavigateTimeout    = 30 * time.Second
	WaitTimeout        = 15 * time.Second
	FetchTimeout       = 30 * time.Second
	GuestCPU           = 10 * time.Second // guest CPU in one call, host calls not counted

	MaxHostCalls  = 64        // host calls in one tool call
	MaxSteps      = 32        // steps in one program
	MaxFollow     = 50        // pages that one extract step may follow
	MaxRows       = 5000      // rows that one extract step returns
	MaxAnswer     = 1 << 20   // bytes of one host call's answer
	MaxProgram    = 256 << 10 // bytes of one host call's program
	MaxResult     = 4 << 20   // bytes of one tool result
	MaxArgs       = 1 << 20   // bytes of one tool call's arguments
	MaxBody       = 1 << 20   // bytes of one request or response body in fetch
	MaxHTML       = 512 << 10 // bytes of one html step
	MaxSnapshot   = 64 << 10  // bytes of one snapshot step
	MaxImage      = 1 << 20   // bytes of one picture, PNG or JPEG
	MaxImages     = 4         // pictures that one tool call takes
	MaxJSONDepth  = 128
	MaxModule     = 8 << 20  // bytes of a module, unless configured up to 32 MiB
	MaxMemory     = 64 << 20 // bytes of linear memory
	MaxMetadata   = 1 << 20  // bytes of one metadata file, plugin.yaml included
	MaxSchema     = 64 << 10 // bytes of one JSON Schema
	MaxToolName   = 46       // 64 less what clients put before it
	MaxConnectors = 16       // in one plugin
	MaxTools      = 64       // in one connector
	MaxPrompts    = 16       // in one connector
	MaxPromptText = 4 << 10  // bytes of a prompt's text, before its arguments are put in
	MaxPromptArgs = 8        // arguments of one prompt
	// MaxPromptValue is bytes of one argument of a prompt.
	MaxPromptValue = 1000
	// MinClientResult is bytes of one tool result that a client gets at once, and
	// MaxClientResult what a tool that says so may make of it.
	MinClientResult = 40_000
	MaxClientResult = 500_000
)
