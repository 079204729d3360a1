import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { agePath } from '../../peers/age.ts';
import type { S3Server } from '../../peers/versitygw.ts';

export interface ProgramBackup {
  readonly folder: string;
  readonly server: S3Server;
  readonly recipient: string;
}

/**
 * What a person would do with programs: `READER | age`, then `curl`, which needs the size of what it uploads. None of them
 * computes a checksum of the snapshot. Throws what they say if they fail. Resolves with the seconds of processor time that
 * they have used.
 */
export async function backUpWithPrograms(
  { folder, server, recipient }: ProgramBackup,
  reader: readonly string[],
): Promise<number> {
  const encrypted = join(folder, 'snapshot.age');
  const piped = await run(`${quote(reader)} | ${quote([agePath(), '--recipient', recipient, '--output', encrypted])}`);
  const ca = join(folder, 'ca.pem');
  await writeFile(ca, server.ca);
  const { size } = await stat(encrypted);
  const sent = await run(
    quote([
      ...['curl', '--silent', '--show-error', '--fail', '--cacert', ca, '--aws-sigv4', 'aws:amz:us-east-1:s3'],
      ...['--user', `${server.accessKeyId}:${server.secretAccessKey}`],
      ...['--header', 'x-amz-content-sha256: UNSIGNED-PAYLOAD', '--upload-file', encrypted],
      `${server.endpoint}/${server.bucket}/plain/snapshot.age`,
    ]),
  );
  const uploaded = await stat(join(server.folder, 'plain', 'snapshot.age'));
  if (uploaded.size !== size) throw new Error('curl has uploaded something else');
  return piped + sent;
}

const quote = (words: readonly string[]): string => words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

/**
 * Runs a line of the shell, beside this process: its simulators go on. Every one of these programs says why it fails. Resolves
 * with their processor time, which the shell prints in its second line of `times`: user and system.
 */
async function run(line: string): Promise<number> {
  const shell = spawn('sh', ['-c', `${line}\ncode=$?\ntimes\nexit $code`], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [times, said] = ['', ''];
  shell.stdout.on('data', (text: Buffer) => {
    times += text.toString('utf8');
  });
  shell.stderr.on('data', (text: Buffer) => {
    said += text.toString('utf8');
  });
  const [code] = (await once(shell, 'close')) as [number | null];
  if (code !== 0 || said !== '') throw new Error(`${line.slice(0, 60)}… ended with ${code}: ${said}`);
  const found =
    times
      .trim()
      .split('\n')
      .at(-1)
      ?.matchAll(/(\d+)m([\d.]+)s/g) ?? [];
  return [...found].reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}
