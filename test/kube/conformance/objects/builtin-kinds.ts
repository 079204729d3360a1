import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess, namesOf } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { randomName } from '../../support/widgets.ts';

/** Validation and behaviour of single built-in kinds. */
export function testBuiltinKinds(server: () => ServerUnderTest): void {
  describe('kinds', () => {
    let namespace: string;
    beforeAll(async () => {
      namespace = await server().namespace('kinds');
    });

    describe('Lease', () => {
      const leases = (name?: string) =>
        `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases${name ? `/${name}` : ''}`;
      const lease = (spec: Body) => ({ metadata: { name: randomName() }, spec });

      it('stores times with six digits', async () => {
        const spec = {
          holderIdentity: 'me',
          leaseDurationSeconds: 15,
          acquireTime: '2026-11-21T09:30:00.123456Z',
          renewTime: '2026-11-21T09:30:01.000000Z',
          leaseTransitions: 0,
        };
        const body = expectSuccess(await server().admin.post(leases(), lease(spec)), 201);
        expect(body.spec).toEqual(spec);
      });

      it.each(['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.123Z', '2026-11-21T09:30:00.123456789Z', 'yesterday'])(
        'rejects the time %s with 400',
        async (renewTime) => {
          const status = expectRejection(await server().admin.post(leases(), lease({ renewTime })), 400, 'BadRequest');
          expect(status.message).toMatch(/^Lease in version "v1" cannot be handled as a Lease: parsing time /);
        },
      );

      it('rejects a duration that is not positive', async () => {
        const status = expectRejection(
          await server().admin.post(leases(), lease({ leaseDurationSeconds: 0 })),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual(['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0']);
      });

      it('is acquired by only one of two clients that read it as free', async () => {
        const made = expectSuccess(await server().admin.post(leases(), lease({ holderIdentity: '' })), 201);
        const take = (holderIdentity: string) =>
          server().admin.put(leases(made.metadata.name), { ...made, spec: { ...made.spec, holderIdentity } });
        const answers = await Promise.all([take('a'), take('b'), take('c')]);
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
      });

      it('is free without a holder', async () => {
        const made = expectSuccess(await server().admin.post(leases(), lease({ holderIdentity: 'a' })), 201);
        const body = expectSuccess(
          await server().admin.merge(leases(made.metadata.name), { spec: { holderIdentity: '' } }),
        );
        expect(body.spec.holderIdentity).toBe('');
      });
    });

    describe('Event', () => {
      const core = () => `/api/v1/namespaces/${namespace}/events`;
      const involvedObject = () => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'x', uid: 'u' });

      it('must be in the namespace of the object it refers to, or in default for a cluster-scoped object', async () => {
        const other = { ...involvedObject(), namespace: 'elsewhere' };
        const status = expectRejection(
          await server().admin.post(core(), {
            metadata: { name: randomName() },
            involvedObject: other,
            reason: 'x',
            message: 'x',
            type: 'Normal',
          }),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual([
          'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace',
        ]);
        const clusterWide = { apiVersion: 'v1', kind: 'Namespace', name: namespace };
        const body = {
          metadata: { name: randomName() },
          involvedObject: clusterWide,
          reason: 'x',
          message: 'x',
          type: 'Normal',
        };
        expectRejection(await server().admin.post(core(), body), 422, 'Invalid');
        expectSuccess(await server().admin.post('/api/v1/namespaces/default/events', body), 201);
        server().deleteLater(`/api/v1/namespaces/default/events/${body.metadata.name}`);
      });

      it('can be selected by the object it refers to', async () => {
        const name = randomName();
        const about = { ...involvedObject(), name };
        expectSuccess(
          await server().admin.post(core(), {
            metadata: { name },
            involvedObject: about,
            reason: 'x',
            message: 'x',
            type: 'Warning',
          }),
          201,
        );
        const list = await server().admin.get(core(), {
          query: { fieldSelector: `involvedObject.name=${name},involvedObject.kind=ConfigMap,type=Warning` },
        });
        expect(namesOf(expectSuccess(list))).toEqual([name]);
      });
    });

    describe('Node', () => {
      it('has a Table with status, roles, age and version', async () => {
        const name = server().unique('node');
        const metadata = { name, labels: { 'node-role.kubernetes.io/control-plane': '' } };
        expectSuccess(await server().admin.post('/api/v1/nodes', { metadata, spec: { unschedulable: true } }), 201);
        server().deleteLater(`/api/v1/nodes/${name}`);
        const status = {
          conditions: [{ type: 'Ready', status: 'True' }],
          nodeInfo: { kubeletVersion: 'v1.36.3' },
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        };
        expectSuccess(await server().admin.merge(`/api/v1/nodes/${name}/status`, { status }));
        const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
        const table = expectSuccess(await server().admin.get(`/api/v1/nodes/${name}`, { accept }));
        const cell = (column: string) =>
          table.rows[0].cells[table.columnDefinitions.findIndex((one: Body) => one.name === column)];
        expect(cell('Status')).toBe('Ready,SchedulingDisabled');
        expect(cell('Roles')).toBe('control-plane');
        expect(cell('Version')).toBe('v1.36.3');
        expect(cell('Internal-IP')).toBe('10.0.0.1');
      });

      it('has an immutable provider id and pod range once they are set', async () => {
        const name = server().unique('node');
        const spec = { providerID: 'talos://one' };
        expectSuccess(await server().admin.post('/api/v1/nodes', { metadata: { name }, spec }), 201);
        server().deleteLater(`/api/v1/nodes/${name}`);
        const answer = await server().admin.merge(`/api/v1/nodes/${name}`, { spec: { providerID: 'talos://two' } });
        const status = expectRejection(answer, 422, 'Invalid');
        expect(status.message).toContain('Forbidden');
      });
    });

    describe('ServiceAccount', () => {
      it('is created without a Secret', async () => {
        const body = expectSuccess(
          await server().admin.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
            metadata: { name: randomName() },
          }),
          201,
        );
        expect(body).not.toHaveProperty('secrets');
      });
    });

    describe('Secret', () => {
      it('of a well-known type must have the keys of that type', async () => {
        const path = `/api/v1/namespaces/${namespace}/secrets`;
        const status = expectRejection(
          await server().admin.post(path, {
            metadata: { name: randomName() },
            type: 'kubernetes.io/tls',
            stringData: {},
          }),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual(['data[tls.crt]: Required value', 'data[tls.key]: Required value']);
      });

      it('is rejected above one MiB of data', async () => {
        const path = `/api/v1/namespaces/${namespace}/secrets`;
        const stringData = { a: 'x'.repeat(1024 * 1024 + 1) };
        const status = expectRejection(
          await server().admin.post(path, { metadata: { name: randomName() }, stringData }),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual(['data: Too long: may not be more than 1048576 bytes']);
      });
    });

    it('annotations are limited to 256 KiB in total', async () => {
      const path = `/api/v1/namespaces/${namespace}/configmaps`;
      const annotations = { a: 'x'.repeat(256 * 1024 + 1) };
      const status = expectRejection(
        await server().admin.post(path, { metadata: { name: randomName(), annotations } }),
        422,
        'Invalid',
      );
      expect(causesOf(status)[0]).toMatch(/^metadata\.annotations: Too long: may not be more than 262144 bytes$/);
    });

    it('a namespace whose name is no DNS label is rejected', async () => {
      const status = expectRejection(
        await server().admin.post('/api/v1/namespaces', { metadata: { name: 'a.b' } }),
        422,
        'Invalid',
      );
      expect(causesOf(status)[0]).toMatch(/^metadata\.name: Invalid value: "a\.b": must not contain dots$/);
    });
  });
}
