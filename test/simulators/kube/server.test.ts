import { describe, expect, it, onTestFinished } from 'vitest';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { createKubeStore } from '../../world/kube/server.ts';
import { startKubeFixture } from './testing/kube-fixture.ts';

const maps = '/api/v1/namespaces/default/configmaps';

describe('servers that share a store', () => {
  const store = createKubeStore();

  it('see one another’s writes, in lists and watches', async () => {
    const [one, two] = await Promise.all([startKubeFixture({ store }), startKubeFixture({ store })]);
    const { body } = await two.call('GET', maps);
    const watch = await two.watch(`${maps}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    await one.call('POST', maps, { metadata: { name: 'shared' } });
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'shared' } } });
    watch.close();
    expect((await two.call('GET', `${maps}/shared`)).code).toBe(200);
  });

  it('continue when one of them ends, including controllers', async () => {
    const [first, second] = [await startKubeFixture({ store }), await startKubeFixture({ store })];
    await first.close();
    await second.call('POST', '/api/v1/namespaces', { metadata: { name: 'after' } });
    await expect
      .poll(async () => (await second.call('GET', '/api/v1/namespaces/after/serviceaccounts/default')).code)
      .toBe(200);
  });

  it('accept objects from inside the process, and report changes to it', async () => {
    const kube = await startKubeFixture({ store });
    const seen: string[] = [];
    onTestFinished(store.onChange(({ type, object }) => seen.push(`${type} ${object.metadata.name}`)));
    store.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'inside' }, status: { phase: 'Running' } });
    const { body } = await kube.call('GET', '/api/v1/nodes/inside');
    expect(body).toMatchObject({ kind: 'Node', status: { phase: 'Running' } });
    expect(body.metadata.uid).toBeTruthy();
    await kube.call('DELETE', '/api/v1/nodes/inside');
    expect(seen).toEqual(['ADDED inside', 'DELETED inside']);
  });

  it('answer 500 while the store has no leader, and are not ready', async () => {
    const kube = await startKubeFixture({ store });
    store.available = false;
    onTestFinished(() => {
      store.available = true;
    });
    expect((await kube.call('GET', maps)).code).toBe(500);
    expect((await kube.call('GET', '/readyz')).code).toBe(500);
  });
});

describe('faults', async () => {
  const switchboard = new CallInterceptor();
  const kube = await startKubeFixture({ switchboard });
  const create = (name: string) => kube.call('POST', maps, { metadata: { name } });
  const isThere = async (name: string) => (await kube.call('GET', `${maps}/${name}`)).code === 200;

  it('drop: the connection ends before the work', async () => {
    switchboard.fail('kube', /^POST /, { kind: 'drop' });
    await expect(create('dropped')).rejects.toThrow();
    expect(await isThere('dropped')).toBe(false);
  });

  it('lose-reply: the work is done', async () => {
    switchboard.fail('kube', /^POST /, { kind: 'lose-reply' });
    await expect(create('lost')).rejects.toThrow();
    expect(await isThere('lost')).toBe(true);
  });

  it('error: a Status of that code, with headers', async () => {
    switchboard.fail('kube', /^POST /, { kind: 'error', status: 429, headers: { 'Retry-After': '1' } });
    const reply = await create('refused');
    expect(reply).toMatchObject({ code: 429, body: { kind: 'Status', reason: 'TooManyRequests', code: 429 } });
    expect(reply.headers['retry-after']).toBe('1');
    expect(await isThere('refused')).toBe(false);
  });

  it('are selected by method and path, and each call is recorded', () => {
    expect(switchboard.calls.map((call) => call.name)).toContain(`POST ${maps}`);
  });
});

it('closing ends open watches at once', async () => {
  const kube = await startKubeFixture();
  const watch = await kube.watch(`${maps}?watch=true`);
  const ended = (async () => {
    while (await watch.next());
  })();
  await kube.close();
  await expect(ended).rejects.toThrow();
});

it('a server that has just started forbids everything except to system:masters, until RBAC is loaded', async () => {
  const kube = await startKubeFixture({ forbidsMilliseconds: 300 });
  const path = '/api/v1/namespaces/default';
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'namespaces' } } };
  const ask = async (token: string) =>
    (await kube.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review, { token })).code;
  expect((await kube.call('GET', path)).code).toBe(200);
  expect(await ask('nobody')).toBe(403);
  await expect.poll(() => ask('nobody')).toBe(201);
});
