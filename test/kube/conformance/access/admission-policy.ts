import { beforeAll, describe, expect, it } from 'vitest';
import { machineDeletionPolicy } from '../../../../src/api/machine-deletion-policy.ts';
import { annotations, group as ownGroup } from '../../../../src/api/names.ts';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { describeSuiteCrd, installCrd } from '../../support/widgets.ts';

const kinds = '/apis/admissionregistration.k8s.io/v1';
const { onlyControlPlane, approve: repair } = annotations;
const plural = 'guarded';

/** The provider's admission policy, applied to a kind of this suite. */
export function testAdmissionPolicy(server: () => ServerUnderTest): void {
  describe('the policy for Machines', () => {
    let machines: string;
    let policyName: string;
    const paths: string[] = [];
    const bodies: Body[] = [];

    const put = (index: number) =>
      server().admin.apply(paths[index] ?? '', bodies[index], 'kube-suite', {
        query: { fieldValidation: 'Strict' },
      });

    /** Creates an object with these annotations and returns its path. */
    async function made(notes: Record<string, string>): Promise<string> {
      const { group, admin } = server();
      const name = server().unique('machine');
      const body = { apiVersion: `${group}/v1`, kind: 'Guarded', metadata: { name, annotations: notes } };
      expectSuccess(await admin.post(machines, body), 201);
      return `${machines}/${name}`;
    }

    beforeAll(async () => {
      const { group, admin } = server();
      const names = { kind: 'Guarded', plural };
      const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
      machines = await installCrd(server(), describeSuiteCrd(server(), names, schema, { scope: 'Cluster' }));
      policyName = `${plural}.${group}`;
      for (const { type, object } of machineDeletionPolicy) {
        const body = JSON.parse(JSON.stringify(object)) as Body;
        body.metadata.name = policyName;
        if (body.spec.policyName) body.spec.policyName = policyName;
        for (const rule of body.spec.matchConstraints?.resourceRules ?? []) {
          expect(rule).toMatchObject({ apiGroups: [ownGroup], resources: ['machines'] });
          Object.assign(rule, { apiGroups: [group], resources: [plural] });
        }
        const path = `${kinds}/${type.plural}/${policyName}`;
        bodies.push(body);
        paths.push(path);
        server().deleteLater(path);
        expectSuccess(await put(paths.length - 1), 201);
      }
      const probe = await made({ [onlyControlPlane]: 'true' });
      // A server checks for new policies once a second.
      await eventuallyResponds(
        'the policy is in force',
        () => admin.delete(`${probe}`, { dryRun: ['All'] }),
        ({ status }) => status === 403,
      );
    });

    it('gets defaults, and does not change when it is applied again', async () => {
      const before = await Promise.all(paths.map(async (path) => expectSuccess(await server().admin.get(path))));
      expect(before[0].spec).toMatchObject({
        failurePolicy: 'Fail',
        matchConstraints: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} },
      });
      expect(before.map(({ metadata }) => metadata.generation)).toEqual([1, 1]);
      // Its controller may write a status meanwhile, so the resourceVersion proves nothing.
      for (const [index, { metadata, spec }] of before.entries())
        expect(expectSuccess(await put(index))).toMatchObject({ spec, metadata: { generation: metadata.generation } });
    });

    it('rejects the deletion of the only control plane, alone and in a collection, with a useful message', async () => {
      const { admin, group } = server();
      const path = await made({ [onlyControlPlane]: 'true' });
      const status = expectRejection(await admin.delete(path), 403, 'Forbidden');
      const name = path.slice(path.lastIndexOf('/') + 1);
      const words = `ValidatingAdmissionPolicy '${policyName}' with binding '${policyName}' denied request: ${bodies[0].spec.validations[0].message}`;
      expect(status.message).toBe(`${plural}.${group} "${name}" is forbidden: ${words}`);
      expect(status.details).toEqual({ name, group, kind: plural, causes: [{ message: words }] });
      expectRejection(await admin.delete(machines), 403, 'Forbidden');
      expect((await admin.get(path)).body.metadata.deletionTimestamp).toBeUndefined();
    });

    it.each([
      ['that has no annotations', {}],
      ['that is one of several', { [repair]: 'EtcdAtRisk' }],
      ['whose loss was agreed to', { [onlyControlPlane]: 'true', [repair]: 'LastControlPlane' }],
      ['whose loss was agreed to among others', { [onlyControlPlane]: 'true', [repair]: 'VmOff, LastControlPlane' }],
    ])('allows the deletion of an object %s', async (_, notes) => {
      const path = await made(notes as Record<string, string>);
      expectSuccess(await server().admin.delete(path));
      expect((await server().admin.get(path)).status).toBe(404);
    });

    it('does not accept another approval', async () => {
      const path = await made({ [onlyControlPlane]: 'true', [repair]: 'EtcdSilent,LastControlPlaneX' });
      expectRejection(await server().admin.delete(path), 403, 'Forbidden');
    });
  });
}
