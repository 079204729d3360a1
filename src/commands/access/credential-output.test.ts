import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SecretString } from '../../lib/secret-string.ts';
import { checkOutput, writeCredential } from './credential-output.ts';

const text = new SecretString('context: a\n');
let folder: string;
let file: string;
let printed: string[];
const to = (output?: string, force = false) => ({
  ...(output !== undefined && { outputFile: output }),
  output: 'yaml' as const,
  force,
  print: (line: string) => printed.push(line),
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-'));
  file = join(folder, 'talosconfig');
  printed = [];
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

it('prints the text without a file, with one end of line', async () => {
  await checkOutput(to());
  await writeCredential(text, to());
  expect(printed).toEqual(['context: a']);
});

it('writes a file that only its owner can read, and prints nothing', async () => {
  await checkOutput(to(file));
  await writeCredential(text, to(file));
  expect(await readFile(file, 'utf8')).toBe('context: a\n');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(printed).toEqual([]);
});

it.each(['a file', 'a link to nothing'])('does not replace %s', async (kind) => {
  await (kind === 'a file' ? writeFile(file, 'other') : symlink(join(folder, 'nothing'), file));
  const message = /--output-file: .*talosconfig exists\. Use another path, or --force to replace it\./;
  await expect(checkOutput(to(file))).rejects.toThrow(message);
  await expect(writeCredential(text, to(file))).rejects.toThrow(message);
  expect(await readdir(folder)).toEqual(['talosconfig']);
});

it('replaces a file with --force as a whole: its mode does not stay', async () => {
  await writeFile(file, 'a longer text than the new one');
  await chmod(file, 0o644);
  await checkOutput(to(file, true));
  await writeCredential(text, to(file, true));
  expect(await readFile(file, 'utf8')).toBe('context: a\n');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['talosconfig']);
});

it('says which path cannot be written, and leaves nothing behind', async () => {
  await expect(checkOutput(to(folder, true))).rejects.toThrow(/--output-file: .* is a folder/);
  await expect(writeCredential(text, to(join(folder, 'none', 'x')))).rejects.toThrow(/cannot be written \(ENOENT\)/);
  await expect(writeCredential(text, to(folder, true))).rejects.toThrow(/--output-file: .* cannot be written/);
  expect(await readdir(folder)).toEqual([]);
});
