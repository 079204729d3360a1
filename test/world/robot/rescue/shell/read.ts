import type { Shell } from './shell.ts';

/** `read -r`: one line, byte by byte so that nothing behind it is taken, split over the variables. */
export async function read(shell: Shell, args: readonly string[]): Promise<number> {
  const [flag, ...names] = args.slice(1);
  if (flag !== '-r' || names.length === 0) return await shell.refuse('read', 'only -r with names');
  let line = '';
  let isWhole = false;
  for (;;) {
    const char = (await shell.process.read(0, 1)).toString('latin1');
    isWhole = char === '\n';
    if (isWhole || char === '') break;
    line += char;
  }
  let rest = line.replace(/^[ \t]+|[ \t]+$/g, '');
  // The last variable gets what is left.
  for (const name of names.slice(0, -1)) {
    const [taken = '', value = ''] = /^([^ \t]*)[ \t]*/.exec(rest) ?? [];
    shell.state.set(name, value);
    rest = rest.slice(taken.length);
  }
  shell.state.set(names.at(-1) ?? '', rest);
  return isWhole ? 0 : 1;
}
