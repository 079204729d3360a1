import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../setup/generated-files.ts';

const parts = ['src', 'test', 'config', 'charts', 'docs', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** A copy of the project in a temporary folder, with the installed packages of this one. */
export class ProjectCopy {
  readonly folder = mkdtempSync(join(tmpdir(), 'project-'));

  constructor() {
    for (const part of parts) cpSync(join(projectRoot, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(projectRoot, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** What an engineer does by hand: a folder and an entry of the list. */
  addPlatform(from: string, folder: string, name: string): void {
    cpSync(join(projectRoot, from), join(this.folder, 'src/platforms', folder), { recursive: true });
    const list = 'src/platforms/index.ts';
    const entry = `import { ${name} } from './${folder}/index.ts';\n`;
    this.write(list, entry + this.read(list).replace(/(readonly Platform\[\] = \[)/, `$1${name}, `));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  /** Runs a program in the folder, for three minutes at most. Rejects with its output when it fails. */
  async run(...words: readonly string[]): Promise<string> {
    const options = { cwd: this.folder, timeout: 180_000, maxBuffer: 2 ** 26 };
    const running = promisify(execFile)(process.execPath, words, options);
    const { stdout } = await running.catch((error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${words.join(' ')}:\n${error.stdout}\n${error.stderr}`, { cause: error });
    });
    return stdout;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
