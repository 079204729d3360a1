import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestAuthority } from '../../test/peers/test-authority.ts';
import { readCertificateFolder } from './certificate-folder.ts';

const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
const authority = await createTestAuthority('test');
const { cert, key } = await authority.serving(['127.0.0.1'], []);
const write = async (files: Readonly<Record<string, string>>) => {
  const all = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.ca, ...files };
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
};

afterAll(() => rm(folder, { recursive: true }));

describe('the certificates of a server', () => {
  it('are those of the folder, and the key is never printed', async () => {
    await write({});
    const found = await readCertificateFolder(folder);
    expect([found.cert, found.key.reveal(), found.ca]).toEqual([cert, key, authority.ca]);
    expect(JSON.stringify(found)).not.toContain('PRIVATE KEY');
  });

  it.each([
    ['no certificate', { 'tls.crt': 'x' }, /tls\.crt is not valid PEM\. Replace it\.$/],
    ['no authority', { 'ca.crt': '' }, /ca\.crt is not valid PEM\. Replace it\.$/],
    ['no key', { 'tls.key': 'x' }, /tls\.key is not valid PEM\. Replace it\.$/],
  ] as const)('a file with %s is named', async (_, files, message) => {
    await write(files);
    await expect(readCertificateFolder(folder)).rejects.toThrow(message);
  });

  it('the key of another certificate is named', async () => {
    await write({ 'tls.key': (await authority.serving([], ['other'])).key });
    await expect(readCertificateFolder(folder)).rejects.toThrow(
      /tls\.key is not the key of tls\.crt .* Replace both\.$/,
    );
  });

  it('a file that is missing is named', async () => {
    await write({});
    await rm(join(folder, 'ca.crt'));
    await expect(readCertificateFolder(folder)).rejects.toThrow(/ca\.crt cannot be read\. Mount a Secret with ca\.crt/);
  });
});
