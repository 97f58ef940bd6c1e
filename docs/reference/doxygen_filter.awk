# Makes Doxygen see the headers' plain comments as documentation: the first one as the file's, one on lines of its own as
# that of what follows, one behind code as that of what stands before it. Lines indented inside of a comment are code.

# A word after # is a link for Doxygen, unless it is escaped.
function plain(text) { gsub(/ #/, " \\#", text); return text }
function indented(text) { return text ~ /^   +[^ ]/ ? "    " text : plain(text) }

BEGIN { isFirst = 1 }

# Headings between sections say nothing about a single thing.
/^ *\/\* ----.*\*\/ *$/ || /^ *\/\/ ----/ { print ""; next }

inBlock {
  text = $0
  if (text ~ /\*\//) inBlock = 0
  if (text !~ /^ *\*\//) sub(/^ *\* ?/, "", text)
  print indented(text)
  next
}

# A comment that fills its lines.
/^ *\/\*/ {
  text = $0
  inBlock = text !~ /\*\//
  sub(/\/\*/, isFirst ? "/** @file\n" : "/**", text)
  isFirst = 0
  print plain(text)
  next
}
/^ *\/\/\// { isFirst = 0; print; next }
/^ *\/\// {
  text = $0
  sub(/^ *\/\/ ?/, "", text)
  if (isFirst && !inFileComment) print "/// @file"
  inFileComment = isFirst
  print "/// " indented(text)
  next
}
{
  if (inFileComment) { print ""; inFileComment = 0; isFirst = 0 }
}

# A comment behind code, which may end on a later line.
/[^ ].*[ (]\/\*/ && !/^ *#/ && !/\/\*[A-Za-z]*\*\// {
  text = $0
  inBlock = text !~ /\*\//
  sub(/\/\*/, "/**<", text)
  print text
  next
}
/[^ ].* \/\/ / && !/^ *#/ && !/"[^"]*\/\/ / {
  text = $0
  sub(/ \/\/ /, " ///< ", text)
  print text
  next
}
{ print }
