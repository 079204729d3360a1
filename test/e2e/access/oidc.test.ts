import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessRequest, type OidcAccess } from '../../../src/api/openmcp/types.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { missingForKubelogin, openWorkstation, type Workstation } from '../../peers/kubelogin.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import type { OidcSimulator, TokenSpec } from '../../world/oidc/index.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import { defaultCanIRows, parseCanIList } from '../support/access/kubectl.ts';
import { accessWithToken, oidcAccess, readOidcKubeconfig, userInfoOf } from '../support/access/oidc-access.ts';
import {
  accessResult,
  accessSecret,
  ConfigMap,
  grantedKubeconfig,
  openGrantedClient,
} from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const cluster = { namespace: 'shop', name: 'main' };
const alice: TokenSpec = { subject: 'alice', audience: 'kubernetes' };

/** One control plane with Talos 1.13, whose API server has its issuer in arguments. */
function logins(workload: 'world' | 'real', subnet: string): void {
  const open = startTestbed({ subnet, workload, timeScale: 0.004, speed: 5 });
  const { isGranted, isReady, objectsOf, ref, refusal: rejection } = accessHelpers(open, cluster);
  const issuer = () => open().world.oidc;
  const look = (token: string, what = ConfigMap) =>
    eventually('the API server knows the issuer', async () => {
      const answer = await accessWithToken(await readOidcKubeconfig(open(), ref('corp')), token, (user) =>
        user.list(what),
      );
      return answer;
    });
  const ask = async (change: Partial<OidcAccess> = {}, name = 'corp') =>
    await open().objects.request(ref(name), { clusterRef: cluster, oidc: oidcAccess(issuer().issuer, change) });
  const isGone = (name: string) =>
    eventually(`request ${name} is gone`, async () => !(await open().objects.exists(AccessRequest, ref(name))));

  prepareTestbed(open, async ({ objects, world }) => {
    await objects.credentials();
    const caBundle = world.oidc.ca;
    const access = { oidcIssuers: [{ issuer: world.oidc.issuer, caBundle }] };
    await objects.config('home', { change: (spec) => Object.assign(spec, { access }) });
    await objects.cluster(cluster);
    await isReady();
  });

  it('C65, C66, C67, C68: gives the users of an issuer a kubeconfig to log in with, and exactly the rights', async () => {
    await ask();
    await isGranted('corp');
    const { exec, text } = await readOidcKubeconfig(open(), ref('corp'));
    const { data } = await accessSecret(open(), ref('corp'));
    expect(Object.keys(data ?? {})).toEqual(['kubeconfig']);
    expect(exec.command).toBe('kubectl');
    expect(exec.args.slice(0, 6)).toEqual([
      ...['oidc-login', 'get-token', '--grant-type=auto', `--oidc-issuer-url=${issuer().issuer}`],
      ...['--oidc-client-id=kubernetes', '--oidc-pkce-method=auto'],
    ]);
    expect(text).not.toMatch(/token:|client-key|password/);
    expect(await objectsOf('corp')).toEqual(['ClusterRole look-at-maps', 'ClusterRoleBinding openmcp:<id>:0:0']);
    const token = issuer().issue({ ...alice, groups: ['staff'] });
    await eventually('alice is let in', async () => (await look(token)) === 'allowed');
    expect(await userInfoOf(await readOidcKubeconfig(open(), ref('corp')), token)).toEqual({
      username: 'corp:alice',
      groups: ['corp:staff', 'system:authenticated'],
    });
    expect(await look(token, Secret as never)).toBe(403);
    expect(await look(token, KubeNode as never)).toBe(403);
    const bob = { subject: 'bob', audience: 'kubernetes' };
    expect(await look(issuer().issue(bob))).toBe(403);
    expect(await look(issuer().issue({ ...bob, groups: ['readers'] }))).toBe('allowed');
  });

  it('rejects a wrong token', async () => {
    const wrong: Record<string, TokenSpec> = {
      'for another client': { ...alice, audience: 'others' },
      'of another issuer': { ...alice, claims: { iss: 'https://issuer.example.org' } },
      'that has ended': { ...alice, lifetimeSeconds: -30 },
      'that somebody else signed': { ...alice, key: 'stranger' },
    };
    for (const [what, desired] of Object.entries(wrong))
      expect([what, await look(issuer().issue(desired))]).toEqual([what, 401]);
  });

  it('gives no administrator rights to a token that claims the names of administrators', async () => {
    const named = { subject: 'system:admin', audience: 'kubernetes', groups: ['system:masters'] };
    expect(await look(issuer().issue(named))).toBe(403);
    expect(await userInfoOf(await readOidcKubeconfig(open(), ref('corp')), issuer().issue(named))).toMatchObject({
      username: 'corp:system:admin',
    });
  });

  it('continues when the issuer rotates its key', async () => {
    issuer().rotate();
    await eventually('the new key is known', async () => (await look(issuer().issue(alice))) === 'allowed');
  });

  describeUnlessMissing('people with the real kubectl and the real kubelogin', missingForKubelogin(), () => {
    let people: Workstation;
    const scopes = ['groups', 'offline_access'];
    beforeAll(async () => {
      await open().platform.merge(AccessRequest, ref('corp'), { spec: { oidc: { extraScopes: scopes } } });
      await isGranted('corp');
      const text = await eventually('the Secret asks for what the request asks for', async () => {
        const { text, exec } = await readOidcKubeconfig(open(), ref('corp'));
        return scopes.every((scope) => exec.args.includes(`--oidc-extra-scope=${scope}`)) && text;
      });
      people = openWorkstation(text, issuer().ca);
    });
    afterAll(async () => await people?.close());
    const come = (person: Parameters<OidcSimulator['seat']>[0]) => {
      people.logOut();
      issuer().seat(person);
    };

    it('C67: log in with the unchanged kubeconfig in the Secret, and have the identity of the issuer', async () => {
      come({ subject: 'alice', groups: ['staff'] });
      const { code, out, error, visited } = await people.kubectl('auth', 'whoami', '-o', 'json');
      expect([code, error]).toEqual([0, expect.not.stringContaining('nable')]);
      const { username, groups } = JSON.parse(out).status.userInfo;
      expect([username, groups.sort()]).toEqual(['corp:alice', ['corp:staff', 'system:authenticated']]);
      expect(visited.map((url) => new URL(url).hostname)).toEqual([
        ...['localhost', new URL(issuer().issuer).hostname, 'localhost'],
      ]);
      const again = await people.kubectl('auth', 'whoami');
      expect([again.code, again.visited]).toEqual([0, []]);
    });

    it('have exactly the rights that the request gives them', async () => {
      come({ subject: 'alice' });
      const { out } = await people.kubectl('auth', 'can-i', '--list');
      const rights = parseCanIList(out).filter(({ resources }) => resources !== '');
      const messages = rights.map(({ resources, verbs }) => `${resources}: ${verbs.replace(/[[\]]/g, '')}`);
      expect(messages.sort()).toEqual([...defaultCanIRows, 'configmaps: get list'].sort());
      expect((await people.kubectl('get', 'configmaps', '-A')).code).toBe(0);
      for (const args of [
        ['get', 'secrets'],
        ['create', 'configmap', 'x'],
        ['get', 'configmaps', '--as=root'],
      ]) {
        const { code, error } = await people.kubectl(...args);
        expect([args, code, error]).toEqual([
          args,
          1,
          expect.stringMatching(/ is forbidden: User "corp:alice" cannot /),
        ]);
      }
    });

    it('have no rights when the request does not name them, and those of their group when it does', async () => {
      come({ subject: 'bob' });
      const { code, error } = await people.kubectl('get', 'configmaps');
      expect([code, error]).toEqual([1, expect.stringContaining('User "corp:bob" cannot list')]);
      come({ subject: 'bob', groups: ['readers'] });
      expect((await people.kubectl('get', 'configmaps')).code).toBe(0);
    });

    it('stay logged in after a token has expired, for as long as they requested', async () => {
      come({ subject: 'alice', tokenSeconds: 3 });
      expect((await people.kubectl('get', 'configmaps')).visited).not.toEqual([]);
      const exchanges = () =>
        open().calls.filter(({ simulator, name }) => simulator === 'oidc' && name === 'POST /token').length;
      const before = exchanges();
      const visited: string[] = [];
      await eventually('kubelogin fetches another token', async () => {
        visited.push(...(await people.kubectl('get', 'configmaps')).visited);
        return exchanges() > before;
      });
      expect(visited).toEqual([]);
      expect((await people.kubectl('get', 'configmaps')).code).toBe(0);
    });

    it('get an error message when the login is denied', async () => {
      come(undefined);
      const { code, error } = await people.kubectl('get', 'configmaps');
      expect([code, error]).toEqual([1, expect.stringContaining('access_denied')]);
    });
  });

  it('a second issuer is rejected with a reason, and no existing access is lost', async () => {
    await ask({ name: 'other', issuer: 'https://other.example.org' }, 'second');
    expect(await rejection('second', 'TrustReady', 'TrustRejected')).toBe(
      `spec.oidc.issuer: before Talos 1.14 a cluster supports one OIDC issuer, and AccessRequest shop/corp uses ${issuer().issuer}. Delete that AccessRequest, or use a cluster with Talos 1.14.`,
    );
    expect(await objectsOf('second')).toEqual([]);
    expect(await look(issuer().issue(alice))).toBe('allowed');
    await open().objects.remove(AccessRequest, ref('second'));
    await isGone('second');
  });

  it('C69: becomes a token and a login again, each time without the former access', async () => {
    const login = await readOidcKubeconfig(open(), ref('corp'));
    const { platform } = open();
    const token = { permissions: [{ rules: coreReadRules('configmaps') }] };
    await platform.merge(AccessRequest, ref('corp'), { spec: { oidc: null, token } });
    await isGranted('corp');
    expect(await grantedKubeconfig(open(), ref('corp'))).not.toContain('oidc-login');
    await eventually('the issuer is not trusted any more', async () => {
      const answer = await accessWithToken(login, issuer().issue(alice), (user) => user.list(ConfigMap));
      return answer === 401;
    });
    const holder = await openGrantedClient(open(), ref('corp'));
    try {
      expect(await accessResult(holder.list(ConfigMap))).toBe('allowed');
      await platform.merge(AccessRequest, ref('corp'), { spec: { token: null, oidc: oidcAccess(issuer().issuer) } });
      await isGranted('corp');
      expect(Object.keys((await accessSecret(open(), ref('corp'))).data ?? {})).toEqual(['kubeconfig']);
      expect(await objectsOf('corp')).toEqual(['ClusterRole look-at-maps', 'ClusterRoleBinding openmcp:<id>:0:0']);
      await eventually('the token is worth nothing', async () => (await accessResult(holder.list(ConfigMap))) === 401);
    } finally {
      await holder.close();
    }
    await eventually('alice is let in', async () => (await look(issuer().issue(alice))) === 'allowed');
  });

  it('is rejected from its withdrawal on', async () => {
    const login = await readOidcKubeconfig(open(), ref('corp'));
    await open().objects.remove(AccessRequest, ref('corp'));
    await isGone('corp');
    expect(await accessWithToken(login, issuer().issue(alice), (user) => user.list(ConfigMap))).toBe(401);
    expect(await objectsOf('corp')).toEqual([]);
    expect(await open().objects.exists(Secret, ref('corp.kubeconfig'))).toBe(false);
  });

  it('the provider logs no fault of its own', () => {
    expect(open().faults()).toEqual([]);
  });
}

describe('OIDC on the simulated API server', () => logins('world', '127.42.150'));
describeUnlessMissing('OIDC on the real kube-apiserver', missingForRealWorkload(), () => logins('real', '127.42.151'));
