import { forEachChild, parse, type Statement, type SyntaxNode } from 'unbash';

/** Commands, and the first place that cannot run. */
export interface ParsedShellScript {
  /** The commands on the lines before it. */
  readonly commands: readonly Statement[];
  readonly fault?: { readonly line: number; readonly message: string };
}

/** The line of a position in a script. */
export const lineAt = (source: string, position: number): number => source.slice(0, position).split('\n').length;

/** Takes a script apart the way a shell does: what comes before a mistake is run. */
export function parseShellScript(source: string): ParsedShellScript {
  const script = parse(source);
  const [error] = script.errors ?? [];
  const fault = error
    ? { pos: error.pos, message: `Syntax error: ${error.message}` }
    : findForeign(script, (node) => foreignPart(node, source));
  if (!fault) return { commands: script.commands };
  // A command that is not complete has no length.
  const broken = script.commands.find(({ pos, end }) => end === pos || end >= fault.pos)?.pos ?? fault.pos;
  const line = lineAt(source, broken);
  return {
    commands: script.commands.filter(({ pos, end }) => end > pos && lineAt(source, end) < line),
    fault: { line: lineAt(source, fault.pos), message: fault.message },
  };
}

/** The first part of a tree that is not simulated. */
function findForeign(
  node: SyntaxNode,
  nameOf: (node: SyntaxNode) => string | undefined,
): { pos: number; message: string } | undefined {
  const name = nameOf(node);
  if (name !== undefined) return { pos: node.pos, message: `${name} is not simulated` };
  let found: { pos: number; message: string } | undefined;
  forEachChild(node, (child) => {
    found ??= findForeign(child, nameOf);
  });
  return found;
}

const foreignTypes = new Set<SyntaxNode['type']>([
  ...(['AnsiCQuoted', 'ArithmeticCommand', 'ArithmeticFor', 'ArrayValue', 'BraceExpansion', 'Coproc'] as const),
  ...(['ExtendedGlob', 'HereDoc', 'HereString', 'LocaleString', 'ProcessSubstitution', 'Select'] as const),
  ...(['TestCommand', 'Time', 'FileDescriptorVariable'] as const),
]);
const redirections = new Set(['<', '>', '>>', '<&', '>&']);
const arithmetic = new Set(['||', '&&', '==', '!=', '<=', '>=', '<', '>', '+', '-', '*', '/', '%', '!']);

/** The name of a construct that real shells know, or one of them, and that this one does not. */
function foreignPart(node: SyntaxNode, source: string): string | undefined {
  if (foreignTypes.has(node.type)) return node.type;
  switch (node.type) {
    case 'Word':
      return /^~(?:\/|$)/.test(node.text) ? 'a tilde' : undefined;
    case 'CommandExpansion':
      return node.text.startsWith('`') ? 'a backquote' : undefined;
    case 'ParameterExpansion':
      return node.operation || node.prefix || node.index ? 'an operator in braces' : undefined;
    case 'Function':
      return source.startsWith('function', node.pos) ? 'function' : undefined;
    case 'Assignment':
      return node.append || node.index ? 'an assignment to a part' : undefined;
    case 'CaseItem':
      return node.terminator === ';&' || node.terminator === ';;&' ? node.terminator : undefined;
    case 'Pipeline':
      return node.operators.find((operator) => operator !== '|');
    case 'Redirect':
      return redirections.has(node.operator) ? undefined : node.operator;
    case 'ArithmeticUnary':
    case 'ArithmeticBinary':
      return arithmetic.has(node.operator) ? undefined : node.operator;
    default:
      return undefined;
  }
}
