import { Errno } from '../io/errno.ts';
import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { linesOf, readText, toText } from './text.ts';

/** A JavaScript expression for a basic POSIX one. */
function toExpression(source: string, flags = ''): RegExp {
  const found = source.replace(/\[((?:\[:space:\]|[^\]])+)\]|\\([\s\S])|[(){}|+?/]|^\*/g, (...match) => {
    const [whole, set, escaped] = match as [string, string | undefined, string | undefined];
    if (set !== undefined) return `[${set.replaceAll('\\', '\\\\').replaceAll('[:space:]', '\\s')}]`;
    if (escaped === undefined) return `\\${whole}`;
    // A backslash makes these special, and takes the meaning of others away.
    return '(){}|+?'.includes(escaped) ? escaped : `\\${escaped}`;
  });
  return new RegExp(found, flags);
}

/** `grep` of one basic pattern: lines, with `-c` their number, with `-q` the status alone. */
const grep: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'qic' });
  const [pattern = '', path] = operands;
  const expression = toExpression(pattern, options.has('i') ? 'i' : '');
  let text: string;
  try {
    text = (path === undefined ? await process.readAll() : await process.readFile(path)).toString('latin1');
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`${path}: ${error.message}`, 2);
  }
  const hits = linesOf(text).filter((line) => expression.test(line));
  if (options.has('c')) await process.out(`${hits.length}\n`);
  else if (!options.has('q')) await process.out(toText(hits));
  return hits.length > 0 ? 0 : 1;
};

/** `sed` with one command `s`, for all lines or for one number, with the flags `g` and `p`. */
const sed: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'n' });
  const [script = '', ...paths] = operands;
  const [, only, , pattern = '', replacement = '', flags = ''] =
    /^(\d*)s([/,])((?:\\.|(?!\2).)*)\2((?:\\.|(?!\2).)*)\2([gp]*)$/s.exec(script) ?? [];
  if (only === undefined) return await process.fail(`${script}: this command is not simulated`);
  const expression = toExpression(pattern.replaceAll('\\/', '/'), flags.includes('g') ? 'g' : '');
  const { text, status } = await readText(process, paths);
  const output: string[] = [];
  for (const [index, line] of linesOf(text).entries()) {
    const isChosen = only === '' || Number(only) === index + 1;
    const changed = isChosen
      ? line.replace(expression, (match, ...groups: string[]) =>
          replacement.replace(/\\([0-9&/])|&/g, (whole, escaped: string | undefined) =>
            whole === '&' ? match : /\d/.test(escaped ?? '') ? (groups[Number(escaped) - 1] ?? '') : (escaped ?? ''),
          ),
        )
      : line;
    if (isChosen && flags.includes('p') && line.search(expression) >= 0) output.push(changed);
    if (!options.has('n')) output.push(changed);
  }
  await process.out(toText(output));
  return status;
};

export const searchTools: Readonly<Record<string, RescueProgram>> = { grep, sed };
