import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorldClock } from '../clock.ts';
import { OidcLogins } from '../kube/oidc.ts';
import { Switchboard } from '../switchboard.ts';
import { type OidcRoom, startOidc } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'oidc-'));
const switchboard = new Switchboard();
let room: OidcRoom;
let agent: Agent;
let logins: OidcLogins;
beforeAll(async () => {
  const runner = {
    start: () => {
      throw new Error('there are no machines');
    },
  };
  const options = { host: '127.42.159.1', port: 0, folder, clock: new WorldClock(), switchboard, runner, extra: {} };
  room = await startOidc(options);
  agent = new Agent({ connect: { ca: room.ca } });
  logins = new OidcLogins([
    {
      url: room.issuer,
      ca: room.ca,
      audiences: ['kube'],
      usernameClaim: 'sub',
      usernamePrefix: '',
      groupsClaim: 'groups',
      groupsPrefix: 'g:',
      userRules: ['!user.username.startsWith("system:")', 'user.groups.all(group, !group.startsWith("g:x"))'],
    },
  ]);
});
afterAll(async () => {
  await logins.close();
  await agent.close();
  await room.close();
  rmSync(folder, { recursive: true });
});

const post = async (url: string | undefined, body: unknown) => {
  const answer = await request(url ?? '', { method: 'POST', body: JSON.stringify(body), dispatcher: agent });
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, string> };
};
const read = async (token: string) => {
  await logins.prepare(token);
  return logins.read(token);
};

describe('an issuer of the world', () => {
  it('gives a token to anybody who asks for one, and says what is wrong with a wish', async () => {
    const { body } = await post(room.line.credentials['tokens'], { subject: 'alice', audience: 'kube', groups: ['a'] });
    expect(await read(body['token'] ?? '')).toEqual({ name: 'alice', groups: ['g:a', 'system:authenticated'] });
    expect(await post(room.line.credentials['tokens'], { audience: 'kube' })).toMatchObject({ status: 400 });
  });

  it('rotates: what was signed before is good until its key is forgotten', async () => {
    const before = room.issue({ subject: 'alice', audience: 'kube' });
    await post(room.line.credentials['rotate'], {});
    expect(await read(room.issue({ subject: 'bob', audience: 'kube' }))).toMatchObject({ name: 'bob' });
    expect(await read(before)).toMatchObject({ name: 'alice' });
    room.rotate({ forget: true });
    expect(await read(room.issue({ subject: 'bob', audience: 'kube' }))).toMatchObject({ name: 'bob' });
    expect(await read(before)).toBeUndefined();
  });

  it.each([
    ['for others', { subject: 'a', audience: 'others' }],
    ['over', { subject: 'a', audience: 'kube', lifetimeSeconds: -1 }],
    ['by a stranger', { subject: 'a', audience: 'kube', key: 'stranger' as const }],
    ['for a name that rules forbid', { subject: 'system:admin', audience: 'kube' }],
    ['for a group that rules forbid', { subject: 'a', audience: 'kube', groups: ['x1'] }],
    ['of another issuer', { subject: 'a', audience: 'kube', claims: { iss: 'https://other.example.org' } }],
  ])('a token %s is not taken', async (_, wish) => {
    expect(await read(room.issue(wish))).toBeUndefined();
  });

  it('fails as it is told to, and lets in again whoever comes back', async () => {
    room.rotate({ forget: true });
    const token = room.issue({ subject: 'alice', audience: 'kube' });
    switchboard.fail('oidc', /^GET \/keys$/, { kind: 'error', status: 503 });
    expect(await read(token)).toBeUndefined();
    await room.restart();
    // Connections that were open have ended, and who asks finds that out by asking.
    await expect.poll(() => read(token)).toMatchObject({ name: 'alice' });
  });
});
