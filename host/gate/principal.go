package gate

// A Principal is one MCP client, known by its token and not by what it calls
// itself. The zero value is nobody.
type Principal struct {
	ID   string // stable, random; never the token
	Name string // what the user called it at clients add
}
