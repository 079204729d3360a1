import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { cordonedAnnotation } from '../../../../src/kube/drain/cordon.ts';
import { cordonNode, type DrainRequest, drainNode, uncordonNode } from '../../../../src/kube/drain/drain-node.ts';
import { createApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';

const ready = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'here' }];

/** Nodes, Pods and budgets as kubelets and controllers of workloads leave them. */
class Stage {
  readonly #server: ServerUnderTest;
  readonly namespace: string;

  constructor(server: ServerUnderTest, namespace: string) {
    this.#server = server;
    this.namespace = namespace;
  }

  path(plural: string, name?: string): string {
    const group = plural === 'poddisruptionbudgets' ? '/apis/policy/v1' : '/api/v1';
    return `${group}/namespaces/${this.namespace}/${plural}${name ? `/${name}` : ''}`;
  }

  async node(): Promise<string> {
    const name = this.#server.unique('node');
    expectSuccess(await this.#server.admin.post('/api/v1/nodes', { metadata: { name } }), 201);
    this.#server.deleteLater(`/api/v1/nodes/${name}`);
    await this.#server.admin.merge(`/api/v1/nodes/${name}/status`, { status: { conditions: ready } });
    return name;
  }

  /** A Pod that runs on a node and is ready, unless another status is given. */
  async pod(name: string, nodeName: string, { phase = 'Running', ...metadata }: Body = {}): Promise<Body> {
    const spec = {
      ...{ nodeName, terminationGracePeriodSeconds: 60, automountServiceAccountToken: false },
      containers: [{ name: 'main', image: 'example.org/main' }],
    };
    const body = { metadata: { name, labels: { app: name.split('-')[0] ?? '' }, ...metadata }, spec };
    const pod = expectSuccess(await this.#server.admin.post(this.path('pods'), body), 201);
    this.#server.later(() => this.end(name));
    if (phase === 'Pending') return pod;
    const status = { phase, ...(phase === 'Running' && { conditions: ready }) };
    return expectSuccess(await this.#server.admin.merge(`${this.path('pods', name)}/status`, { status }));
  }

  /** A budget, once its controller has counted the Pods. */
  async budget(name: string, minAvailable: number, app = name): Promise<Body> {
    const body = { metadata: { name }, spec: { minAvailable, selector: { matchLabels: { app } } } };
    expectSuccess(await this.#server.admin.post(this.path('poddisruptionbudgets'), body), 201);
    return await this.counted(name, ({ observedGeneration }) => observedGeneration === 1);
  }

  async counted(name: string, wanted: (status: Body) => boolean): Promise<Body> {
    const path = this.path('poddisruptionbudgets', name);
    const answer = await eventuallyResponds(
      path,
      () => this.#server.admin.get(path),
      ({ status, body }) => status === 200 && wanted((body as Body).status ?? {}),
    );
    return (answer.body as Body).status;
  }

  evict(name: string, deleteOptions?: Body, metadata: Body = { name }) {
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, ...(deleteOptions && { deleteOptions }) };
    return this.#server.admin.post(`${this.path('pods', name)}/eviction`, body);
  }

  /** What the kubelet does when all containers have ended. */
  end(name: string) {
    return this.#server.admin.delete(this.path('pods', name), { gracePeriodSeconds: 0 });
  }
}

/** Eviction, graceful deletion, and the drain of this program on top of them. */
export function testEviction(server: () => ServerUnderTest): void {
  describe('eviction', () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = new Stage(server(), await server().namespace('eviction'));
    });

    it('deletes with the grace period of the Pod, and a second deletion only shortens it', async () => {
      await stage.pod('slow', await stage.node());
      expectSuccess(await stage.evict('slow'), 201);
      const pod = expectSuccess(await server().admin.get(stage.path('pods', 'slow')));
      expect(pod.metadata.deletionGracePeriodSeconds).toBe(60);
      expect(Date.parse(pod.metadata.deletionTimestamp)).toBeGreaterThan(Date.now() + 30_000);
      expect(pod.status.conditions).toContainEqual(
        expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }),
      );
      const long = await server().admin.delete(stage.path('pods', 'slow'), { gracePeriodSeconds: 600 });
      expect(expectSuccess(long).metadata.deletionGracePeriodSeconds).toBe(60);
      const short = await server().admin.delete(stage.path('pods', 'slow'), { gracePeriodSeconds: 5 });
      expect(expectSuccess(short).metadata.deletionGracePeriodSeconds).toBe(5);
      expectSuccess(
        await server().admin.merge(stage.path('pods', 'slow'), { metadata: { labels: { still: 'here' } } }),
      );
      expectSuccess(await stage.end('slow'));
      expectRejection(await server().admin.get(stage.path('pods', 'slow')), 404, 'NotFound');
    });

    it('removes finished Pods and Pods without a node at once', async () => {
      const node = await stage.node();
      await stage.pod('done', node, { phase: 'Succeeded' });
      expectSuccess(await stage.evict('done'), 201);
      expectRejection(await server().admin.get(stage.path('pods', 'done')), 404, 'NotFound');
    });

    it('is refused with the words of the budget when that allows nothing', async () => {
      const node = await stage.node();
      await stage.pod('full-a', node);
      await stage.pod('full-b', node);
      expect(await stage.budget('full', 2)).toMatchObject({
        ...{ disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2, expectedPods: 2, observedGeneration: 1 },
        conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
      });
      const answer = await stage.evict('full-a');
      const status = expectRejection(answer, 429, 'TooManyRequests');
      expect(status).toMatchObject({
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: {
          causes: [
            {
              reason: 'DisruptionBudget',
              message: 'The disruption budget full needs 2 healthy pods and has 2 currently',
            },
          ],
        },
      });
      expect(answer.headers['retry-after']).toBeUndefined();
    });

    it('takes one disruption from the budget, and a dry run takes none', async () => {
      const node = await stage.node();
      for (const name of ['spare-a', 'spare-b', 'spare-c']) await stage.pod(name, node);
      expect((await stage.budget('spare', 2)).disruptionsAllowed).toBe(1);
      expectSuccess(await stage.evict('spare-a', { dryRun: ['All'] }), 201);
      expectSuccess(await stage.evict('spare-a'), 201);
      expect((await stage.evict('spare-b')).status).toBe(429);
      // A Pod that is being deleted needs no budget.
      expectSuccess(await stage.evict('spare-a'), 201);
      await stage.end('spare-a');
      await stage.counted('spare', ({ currentHealthy, disruptedPods }) => currentHealthy === 2 && !disruptedPods);
    });

    it('is refused with 500 for a Pod with two budgets', async () => {
      await stage.pod('both-a', await stage.node());
      await stage.budget('both-one', 0, 'both');
      await stage.budget('both-two', 0, 'both');
      const answer = await stage.evict('both-a');
      expect(answer).toMatchObject({
        status: 500,
        body: {
          ...{ kind: 'Status', status: 'Failure', code: 500 },
          message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
        },
      });
    });

    it('checks the name, the precondition and the existence', async () => {
      await stage.pod('known', await stage.node());
      expectRejection(await stage.evict('known', undefined, { name: 'other' }), 400, 'BadRequest');
      expectRejection(await stage.evict('known', { preconditions: { uid: 'another' } }), 409, 'Conflict');
      expectRejection(await stage.evict('unknown'), 404, 'NotFound');
    });
  });

  describe('a drain', () => {
    let stage: Stage;
    let client: KubeClient;
    const startedAt = new Date();
    const request = (node: string, changes: Partial<DrainRequest> = {}): DrainRequest => ({
      ...{ node, policy: { timeoutMinutes: 30, onTimeout: 'Wait' }, startedAt, now: new Date() },
      ...{ isUnreachable: false, signal: new AbortController().signal, ...changes },
    });
    const isThere = async (name: string) => (await server().admin.get(stage.path('pods', name))).status === 200;
    const nodeOf = async (name: string): Promise<Body> =>
      expectSuccess(await server().admin.get(`/api/v1/nodes/${name}`));

    beforeAll(async () => {
      stage = new Stage(server(), await server().namespace('drain'));
      const { url, ca, token } = server().platform.admin;
      const connection = createApiServerConnection({
        ...{ server: url, ...(ca && { ca }) },
        ...(token && { token: new SecretString(token) }),
      });
      client = new KubeClient(new Transport(connection), { fieldManager: 'drain-test' });
    });
    afterAll(async () => {
      await client?.close();
    });

    it('D1, D3, D4, D6: cordons, respects the budget, names it, and goes on in the next pass', async ({ skip }) => {
      if (!server().platform.admin.token) skip('The client of this test needs a token.');
      const [node, other] = [await stage.node(), await stage.node()];
      await stage.pod('web-a', node);
      await stage.pod('web-b', node);
      await stage.pod('mirror', node, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
      await stage.budget('web', 2);
      expect(await drainNode(client, request(node))).toEqual({
        ...{ kind: 'waiting', reason: 'DrainBlocked' },
        message: expect.stringMatching(
          new RegExp(
            `The disruption budget web needs 2 healthy pods and has 2 currently \\(${stage.namespace}/web-a, ${stage.namespace}/web-b\\)`,
          ),
        ),
      });
      expect((await nodeOf(node)).spec.unschedulable).toBe(true);
      await stage.pod('web-c', other);
      await stage.counted('web', ({ disruptionsAllowed }) => disruptionsAllowed === 1);
      expect(await drainNode(client, request(node))).toMatchObject({ reason: 'DrainBlocked' });
      const left = (await isEnding('web-a')) ? 'web-b' : 'web-a';
      await stage.end(left === 'web-a' ? 'web-b' : 'web-a');
      await stage.pod('web-d', other);
      await stage.counted('web', ({ disruptionsAllowed }) => disruptionsAllowed === 1);
      expect(await drainNode(client, request(node))).toMatchObject({ reason: 'Draining' });
      await stage.end(left);
      expect(await drainNode(client, request(node))).toEqual({ kind: 'drained' });
      expect(await isThere('mirror')).toBe(true);
      await uncordonNode(client, node, request(node).signal);
      const { spec, metadata } = await nodeOf(node);
      expect([
        spec?.unschedulable,
        Object.keys(metadata.annotations ?? {}).filter((key) => key.includes('cordon')),
      ]).toEqual([undefined, []]);
    });

    const isEnding = async (name: string): Promise<boolean> =>
      expectSuccess(await server().admin.get(stage.path('pods', name))).metadata.deletionTimestamp !== undefined;

    it('D7: after the timeout, Force deletes what the budget holds, with its grace period', async () => {
      const node = await stage.node();
      await stage.pod('held-a', node);
      await stage.budget('held', 1);
      const late = { startedAt: new Date(Date.now() - 31 * 60_000) };
      expect(await drainNode(client, request(node, late))).toMatchObject({ reason: 'DrainTimedOut' });
      expect(await isEnding('held-a')).toBe(false);
      const force = { ...late, policy: { timeoutMinutes: 30, onTimeout: 'Force' } } as const;
      expect(await drainNode(client, request(node, force))).toMatchObject({ reason: 'DrainTimedOut' });
      const pod = expectSuccess(await server().admin.get(stage.path('pods', 'held-a')));
      expect(pod.metadata.deletionGracePeriodSeconds).toBe(60);
      await stage.end('held-a');
    });

    it('D8: does not wait for the pods of an unreachable node', async () => {
      const node = await stage.node();
      await stage.pod('lost', node);
      expect(await drainNode(client, request(node, { isUnreachable: true }))).toEqual({ kind: 'drained' });
      expect(await isEnding('lost')).toBe(true);
    });

    it('D9: waits for volumes that are attached, at most until the timeout', async () => {
      const node = await stage.node();
      const attachments = '/apis/storage.k8s.io/v1/volumeattachments';
      const name = server().unique('attachment');
      const spec = { attacher: 'csi.example.org', nodeName: node, source: { persistentVolumeName: 'pvc-1' } };
      expectSuccess(await server().admin.post(attachments, { metadata: { name }, spec }), 201);
      server().deleteLater(`${attachments}/${name}`);
      await server().admin.merge(`${attachments}/${name}/status`, { status: { attached: true } });
      expect(await drainNode(client, request(node))).toMatchObject({
        ...{ reason: 'VolumesAttached', message: expect.stringContaining('1 volume (pvc-1)') },
      });
      const late = { startedAt: new Date(Date.now() - 31 * 60_000) };
      expect(await drainNode(client, request(node, late))).toEqual({ kind: 'drained' });
    });

    it('D12: does not take over the cordon of somebody else, and does not lift it', async () => {
      const node = await stage.node();
      await server().admin.merge(`/api/v1/nodes/${node}`, { spec: { unschedulable: true } });
      expect(await drainNode(client, request(node))).toEqual({ kind: 'drained' });
      await uncordonNode(client, node, request(node).signal);
      const { spec, metadata } = await nodeOf(node);
      expect(spec.unschedulable).toBe(true);
      expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.includes('cordon'))).toEqual([]);
    });

    it('D12: marks a cordon of its own, and lifts it with the mark', async () => {
      const node = await stage.node();
      const { signal } = request(node);
      for (let i = 0; i < 2; i += 1) await cordonNode(client, node, signal);
      const marks = ({ metadata }: Body) =>
        Object.keys(metadata.annotations ?? {}).filter((key) => key.includes('cordon'));
      const cordoned = await nodeOf(node);
      expect([cordoned.spec.unschedulable, marks(cordoned)]).toEqual([true, [cordonedAnnotation]]);
      // Somebody else lifts it and cordons later for a reason of their own: the mark has to be gone by then.
      await server().admin.merge(`/api/v1/nodes/${node}`, { spec: { unschedulable: null } });
      await uncordonNode(client, node, signal);
      await server().admin.merge(`/api/v1/nodes/${node}`, { spec: { unschedulable: true } });
      await uncordonNode(client, node, signal);
      const foreign = await nodeOf(node);
      expect([foreign.spec.unschedulable, marks(foreign)]).toEqual([true, []]);
    });

    it('of a Node that does not exist is done', async () => {
      const node = server().unique('nowhere');
      expect(await drainNode(client, request(node))).toEqual({ kind: 'drained' });
      await uncordonNode(client, node, request(node).signal);
    });
  });
}
