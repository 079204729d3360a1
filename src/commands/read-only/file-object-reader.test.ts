import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProviderConfig } from '../../api/provider-config.ts';
import { Namespace, Secret } from '../../kube/core-types.ts';
import type { SecretStrings } from '../../lib/secret-string.ts';
import {
  credentialsFromEnvironment,
  FileObjectReader,
  readCredentialsFromPath,
  readObjectFile,
} from './file-object-reader.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-view-'));
});
afterEach(async () => await rm(folder, { recursive: true }));

async function file(text: string, name = 'file.yaml'): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}
const revealed = (secrets: SecretStrings) =>
  Object.fromEntries(Object.entries(secrets).map(([key, secret]) => [key, secret.reveal()]));

const secret = `apiVersion: v1
kind: Secret
metadata: {name: nas, namespace: openmcp-system}
data: {username: dGFsb3M=, apiKey: ${Buffer.from('1-encoded\n').toString('base64')}}
stringData: {password: plain}
`;

describe('objects of a file', () => {
  it('are read like those of a platform cluster', async () => {
    const objects = await readObjectFile(
      await file(`${secret}---\n# nothing\n---\n${secret.replace('nas', 'other')}`),
      '--config',
    );
    const view = new FileObjectReader(objects);
    expect((await view.list(Secret)).items.map(({ metadata }) => metadata.name)).toEqual(['nas', 'other']);
    expect(await view.find(Secret, { namespace: 'openmcp-system', name: 'other' })).toBe(objects[1]);
    expect(await view.find(Secret, { namespace: 'elsewhere', name: 'other' })).toBeUndefined();
    expect(await view.find(Namespace, { name: 'kube-system' })).toBeUndefined();
    expect((await view.list(ProviderConfig)).items).toEqual([]);
  });

  it.each([
    ['{a: [b', /not valid YAML/],
    ['a: 1\na: 2\n', /not valid YAML/],
    ['kind: Secret\n', /document 1 of .* has no apiVersion/],
    ['just words', /document 1/],
    ['', /is empty/],
  ])('are rejected for %j', async (text, message) => {
    await expect(readObjectFile(await file(text), '--config')).rejects.toThrow(message);
  });

  it('of a file with a secret in the wrong place are reported without the secret', async () => {
    const error = await readObjectFile(await file(`${secret}password: hunter2\n  wrong: : :\n`), '--config').catch(
      String,
    );
    expect(error).toMatch(/--config: .* is not valid YAML/);
    expect(error).not.toContain('hunter2');
  });

  it('are empty without a file', async () => {
    await expect(readObjectFile(join(folder, 'gone'), '--config')).rejects.toThrow(/--config: .*gone cannot be read/);
  });
});

describe('credentials', () => {
  it('come from a Secret, encoded or not', async () => {
    expect(revealed(await readCredentialsFromPath(await file(secret)))).toEqual({
      username: 'talos',
      apiKey: '1-encoded',
      password: 'plain',
    });
  });

  it('come from a folder, as a mounted Secret volume has them', async () => {
    await mkdir(join(folder, '..data'));
    await file('talos\n', join('..data', 'username'));
    await symlink(join('..data', 'username'), join(folder, 'username'));
    expect(revealed(await readCredentialsFromPath(folder))).toEqual({ username: 'talos' });
  });

  it('are rejected when both are given', async () => {
    await expect(readCredentialsFromPath(await file(`${secret}---\n${secret}`))).rejects.toThrow(/one Secret/);
  });

  it('come from environment variables named after their keys', () => {
    const environment = {
      CREDENTIALS_USERNAME: 'talos',
      CREDENTIALS_API_KEY: '1-x',
      CREDENTIALS_PASSWORD: '',
      PATH: '/',
    };
    expect(revealed(credentialsFromEnvironment(environment))).toEqual({ username: 'talos', apiKey: '1-x' });
    expect(JSON.stringify(credentialsFromEnvironment(environment))).not.toContain('1-x');
  });
});
