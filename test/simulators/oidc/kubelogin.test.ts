import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { missingForKubelogin, openWorkstation, type Workstation } from '../../peers/kubelogin.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { type OidcSimulator, startOidc } from '../../world/oidc/index.ts';
import { decodeClaims } from '../../world/oidc/oidc-test-client.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';

const alice = { subject: 'alice', groups: ['staff'] };

describeUnlessMissing('the real kubelogin at the simulated issuer', missingForKubelogin(), () => {
  let folder: string;
  let simulator: OidcSimulator;
  let workstation: Workstation;
  const switchboard = new CallInterceptor();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oidc-'));
    const runner = { start: () => expect.unreachable('there are no machines') };
    const options = { host: '127.42.159.2', port: 0, folder, clock: new ScaledClock(), switchboard, runner, extra: {} };
    simulator = await startOidc({ ...options, seed: { people: [alice] } });
    workstation = openWorkstation('', simulator.ca);
  });
  beforeEach(() => {
    workstation.logOut();
    simulator.seat(alice);
  });
  afterAll(async () => {
    await workstation.close();
    await simulator.close();
    rmSync(folder, { recursive: true });
  });

  const logIn = (...args: readonly string[]) =>
    workstation.kubelogin(
      'get-token',
      `--oidc-issuer-url=${simulator.issuer}`,
      '--oidc-client-id=kubernetes',
      `--certificate-authority-data=${Buffer.from(simulator.ca).toString('base64')}`,
      ...args,
    );
  const tokens = () => switchboard.calls.filter(({ name }) => name === 'POST /token').length;

  it.each([
    ['a browser', []],
    ['a browser, with additional scopes', ['--oidc-extra-scope=groups']],
  ])('logs users in by %s', async (_, args) => {
    const { code, out, error } = await logIn(...args);
    expect([code, error]).toEqual([0, expect.not.stringContaining('get-token:')]);
    const { kind, status } = JSON.parse(out);
    const { sub, aud, groups } = decodeClaims(status.token);
    const wanted = args.includes('--oidc-extra-scope=groups') ? ['staff'] : undefined;
    expect([kind, sub, aud, groups]).toEqual(['ExecCredential', 'alice', 'kubernetes', wanted]);
  });

  it('uses PKCE because the discovery document lists it, and is redirected to its own listener', async () => {
    const { visited } = await logIn();
    expect(visited.map((url) => new URL(url).host)).toEqual([
      expect.stringMatching(/^localhost:/),
      new URL(simulator.issuer).host,
      expect.stringMatching(/^localhost:/),
    ]);
    expect(new URL(visited[1] ?? '').searchParams.get('code_challenge_method')).toBe('S256');
  });

  it('continues with a refresh token, without a current user', async () => {
    const scope = '--oidc-extra-scope=offline_access';
    expect((await logIn(scope)).code).toBe(0);
    const before = tokens();
    simulator.seat(undefined);
    const { code, visited } = await logIn(scope, '--force-refresh');
    expect([code, visited, tokens() - before]).toEqual([0, [], 1]);
  });

  it('reports why the login failed', async () => {
    simulator.seat(undefined);
    const { code, error } = await logIn();
    expect([code, error]).toEqual([1, expect.stringContaining('access_denied nobody is there who would log in')]);
  });
});
