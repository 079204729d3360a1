import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Shell } from '../../../src/commands/flags/option-values.ts';

/** Whether the shell is installed. */
export function findShell(shell: Shell): boolean {
  try {
    execFileSync(shell, ['-c', 'exit 0'], { stdio: 'ignore', timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}

const run = (program: string, args: readonly string[], cwd: string): string =>
  execFileSync(program, args, {
    ...{ encoding: 'utf8', cwd, timeout: 30_000, stdio: ['ignore', 'pipe', 'inherit'] },
    env: { PATH: process.env['PATH'], HOME: cwd, TERM: 'dumb' },
  });

/** bash splits words at these characters as well before it calls a completion. */
const splitForBash = (line: string): string[] => line.split(/(\s+|[=:])/).filter((word, i) => word !== '' || i > 0);

/** What the script at `script` offers for a line that ends at the cursor, sorted. `folder`: the working directory. */
export const completeInShell: Readonly<Record<Shell, (script: string, line: string, folder: string) => string[]>> = {
  bash: (script, line, folder) => {
    const words = splitForBash(line).filter((word) => !/^\s+$/.test(word));
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const program = words[0] ?? '';
    const text = run(
      'bash',
      [
        '--norc',
        '-c',
        `source '${script}'; spec=$(complete -p ${program}); name=\${spec#complete -F }; name=\${name%% *}
         COMP_LINE='${line}' COMP_POINT=${line.length} COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}
         COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'; "$name"; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ],
      folder,
    );
    return sortLines(text);
  },
  // The offered words are caught where zsh receives them, in a terminal of its own.
  zsh: (script, line, folder) => {
    const text = run('zsh', ['-f', join(import.meta.dirname, 'capture-completion.zsh'), script, line], folder);
    const lists = [...text.matchAll(/<<\r?\n([\s\S]*?)>>/g)].map(([, list = '']) => list);
    return sortLines(lists.join('\n').replaceAll('\r', ''));
  },
  fish: (script, line, folder) => {
    const text = run('fish', ['--no-config', '-c', `source '${script}'; complete -C '${line}'`], folder);
    return sortLines(text.replaceAll(/\t.*$/gm, ''));
  },
};

const sortLines = (text: string): string[] => [...new Set(text.split('\n').filter((line) => line !== ''))].toSorted();
