import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { renderCompletion } from '../../src/commands/completion.ts';
import { shells } from '../../src/commands/flags/option-values.ts';
import { commandNames, commandOptions } from '../../src/commands/flags/options.ts';
import { talosRoles } from '../../src/talos/secrets/talos-role.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { completeInShell, findShell } from '../support/shells/complete-in-shell.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'completion-'));
  for (const name of ['a file.yaml', 'b.yaml']) writeFileSync(join(folder, name), '');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const shell of shells) {
  const missing = findShell(shell) ? undefined : `${shell} is not installed`;
  describeUnlessMissing(`in ${shell}`, missing, () => {
    const complete = (words: string): string[] => {
      const script = join(folder, `completion.${shell}`);
      writeFileSync(script, renderCompletion(shell));
      return completeInShell[shell](script, `cluster-provider-talos ${words}`, folder);
    };

    it('commands are completed', () => {
      expect(complete('')).toEqual(expect.arrayContaining([...commandNames, 'help']));
      expect(complete('back').toSorted()).toEqual(['backup', 'backups']);
      expect(complete('help wh')).toEqual(['why']);
    });

    it.each(commandNames)('every flag of %s is completed', (command) => {
      const flags = commandOptions[command].map(({ long }) => long ?? '');
      // A file may take the place of flags that zsh would complete with an equals sign.
      const offered = complete(`${command} --`).map((flag) => flag.replace(/=$/, ''));
      expect(offered).toEqual(expect.arrayContaining([...flags, '--help']));
      expect(offered.filter((flag) => !flags.includes(flag))).toEqual(['--help']);
    });

    it('values of flags and arguments are completed', () => {
      expect(complete('status --output ')).toEqual(['json', 'table', 'yaml']);
      expect(complete('status -o j')).toEqual(['json']);
      expect(complete('why prod --namespace shop --verbosity e')).toEqual(['error']);
      expect(complete('talosconfig --cluster a/b --role ')).toEqual([...talosRoles].toSorted());
      expect(complete('backups ').slice(0, 3)).toEqual(['fetch', 'list', 'verify']);
      expect(complete('status --namespace ')).toEqual([]);
      expect(complete('import --from b').join(' ')).toContain('b.yaml');
    });
  });
}

describeUnlessMissing('in bash', findShell('bash') ? undefined : 'bash is not installed', () => {
  const complete = (words: string): string[] => {
    const script = join(folder, 'completion.bash');
    writeFileSync(script, renderCompletion('bash'));
    return completeInShell.bash(script, `cluster-provider-talos ${words}`, folder);
  };

  it('a value after an equals sign is completed, and one with a colon from there on', () => {
    expect(complete('status --output=t')).toEqual(['table']);
    expect(complete('talosconfig --role os:re')).toEqual(['reader']);
    expect(complete('talosconfig --role=os:etcd:')).toEqual(['backup']);
  });

  it('a file is completed with its whole name', () => {
    expect(complete('check --config a')).toEqual(['a file.yaml']);
  });
});
