/**
 * The expressions (CEL) that an authenticator may hold. kube-apiserver compiles and type-checks them when it starts, and does
 * not start with one that fails; a few forms whose types are certain say what is needed.
 */

/** The longest of them: two texts and a path of eight words. */
const maxExpressionLength = 1500;

/** A text has at most 256 characters, a word 64, a claim eight words. */
const expressionPatterns = {
  /** Over `claims`, to a truth value. */
  claimRule: [
    /^claims\.[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7} ?== ?(?:(?:"[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}')|true|false)$/,
  ],
  /** Over `user`, to a truth value. */
  userRule: [
    /^!user\.username\.startsWith\(("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}')\)$/,
    /^user\.groups\.all\(([A-Za-z_][A-Za-z0-9_]{0,63}), ?!([A-Za-z_][A-Za-z0-9_]{0,63})\.startsWith\(("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}')\)\)$/,
  ],
  /** Over `claims`, to a text. */
  text: [
    /^(?:("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}') ?\+ ?)?claims\.[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$/,
  ],
  /** Over `claims`, to texts. A claim has no type that it could be gone through by. */
  texts: [
    /^claims\.[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$/,
    /^dyn\(claims\.[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}\)\.map\(([A-Za-z_][A-Za-z0-9_]{0,63}), ?("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}') ?\+ ?([A-Za-z_][A-Za-z0-9_]{0,63})\)$/,
  ],
} as const;
export type ExpressionKind = keyof typeof expressionPatterns;

const exampleExpressions: Readonly<Record<ExpressionKind, string>> = {
  claimRule: 'claims.hd == "example.org"',
  userRule: "!user.username.startsWith('system:') or user.groups.all(group, !group.startsWith('system:'))",
  text: '"corp:" + claims.sub',
  texts: 'dyn(claims.groups).map(group, "corp:" + group)',
};

/** Words that CEL keeps for itself, and the names of what an expression is about. */
const reservedWords = new Set(
  'in true false null as break const continue else for function if import let loop package namespace return var void while claims user'.split(
    ' ',
  ),
);

/** Why kube-apiserver might not take an expression, as a sentence; undefined when it does. */
export function findExpressionProblem(expression: unknown, kind: ExpressionKind): string | undefined {
  return typeof expression === 'string' && matchesKind(expression, kind)
    ? undefined
    : `It is not one of the expressions that are certain to be read. Use one like ${exampleExpressions[kind]}.`;
}

function matchesKind(expression: string, kind: ExpressionKind): boolean {
  if (expression.length > maxExpressionLength) return false;
  const match = expressionPatterns[kind].map((form) => form.exec(expression)).find((found) => found !== null);
  if (!match) return false;
  const names = match.slice(1).filter((group) => group !== undefined && !/^["']/.test(group));
  const bare = expression.replace(/"[^"]*"|'[^']*'/g, '');
  const fields = (bare.match(/\.[A-Za-z_][A-Za-z0-9_]*/g) ?? []).map((field) => field.slice(1));
  return new Set(names).size <= 1 && ![...names, ...fields].some((name) => reservedWords.has(name ?? ''));
}

/** What every value of a mapping begins with, as far as its expression is one of the forms. */
export function expressionPrefix(expression: string): string {
  const literal = /^(?:["'])([^"']*)["'] ?\+/.exec(expression) ?? /, ?["']([^"']*)["'] ?\+/.exec(expression);
  return literal?.[1] ?? '';
}

/** Whether a rule for users keeps names of Kubernetes' own from them, or from their groups. */
export const excludesSystemNames = (expression: unknown, whose: 'username' | 'groups'): boolean =>
  typeof expression === 'string' &&
  matchesKind(expression, 'userRule') &&
  expression.startsWith(whose === 'username' ? '!user.username' : 'user.groups') &&
  /["']system:["']\){1,2}$/.test(expression);
