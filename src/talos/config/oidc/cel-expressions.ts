/**
 * The CEL expressions that an authenticator may hold. kube-apiserver compiles and type-checks them at startup, and does
 * not start when one fails. A few forms whose types are certain cover the common cases.
 */

/** The length of the longest valid expression: two texts and a path of eight words. */
const maxExpressionLength = 1500;

/** A text has at most 256 characters, a word 64, a claim eight words. */
const expressionPatterns = {
  /** Over `claims`, returns a boolean. */
  claimRule: [
    /^claims\.[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7} ?== ?(?:(?:"[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}')|true|false)$/,
  ],
  /** Over `user`, returns a boolean. */
  userRule: [
    /^!user\.username\.startsWith\(("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}')\)$/,
    /^user\.groups\.all\(([A-Za-z_][A-Za-z0-9_]{0,63}), ?!([A-Za-z_][A-Za-z0-9_]{0,63})\.startsWith\(("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}')\)\)$/,
  ],
  /** Over `claims`, returns a string. */
  text: [
    /^(?:("[ !#-[\]-~]{0,256}"|'[ -&(-[\]-~]{0,256}') ?\+ ?)?claims\.[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$/,
  ],
  /** Over `claims`, returns a list of strings. A claim has no static type, so that `map` needs `dyn`. */
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

/** Reserved words of CEL, and the variables of the expressions. */
const reservedWords = new Set(
  'in true false null as break const continue else for function if import let loop package namespace return var void while claims user'.split(
    ' ',
  ),
);

/** Explains, as a sentence, why kube-apiserver may reject an expression; undefined for a supported form. */
export function findExpressionProblem(expression: unknown, kind: ExpressionKind): string | undefined {
  return typeof expression === 'string' && matchesKind(expression, kind)
    ? undefined
    : `The expression is not supported. Use one like ${exampleExpressions[kind]}.`;
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

/** The prefix of every value of a mapping, for an expression of a supported form. */
export function expressionPrefix(expression: string): string {
  const literal = /^(?:["'])([^"']*)["'] ?\+/.exec(expression) ?? /, ?["']([^"']*)["'] ?\+/.exec(expression);
  return literal?.[1] ?? '';
}

/** Whether a user validation rule excludes the `system:` names of Kubernetes from usernames or groups. */
export const excludesSystemNames = (expression: unknown, whose: 'username' | 'groups'): boolean =>
  typeof expression === 'string' &&
  matchesKind(expression, 'userRule') &&
  expression.startsWith(whose === 'username' ? '!user.username' : 'user.groups') &&
  /["']system:["']\){1,2}$/.test(expression);
