import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildCrds } from '../../../../src/api/crd.ts';
import { anyAccessRequest } from '../../../support/arbitrary/access-request.ts';
import { anyCluster } from '../../../support/arbitrary/cluster.ts';
import { propertyParameters } from '../../../support/arbitrary/property-parameters.ts';
import { anyProviderConfig, offlineDhcpEnvironment } from '../../../support/arbitrary/provider-config.ts';
import { invalidBySchema, specSchema } from '../../../support/arbitrary/schema-violations.ts';
import { openmcpCrds } from '../../../world/operator/crds.ts';
import { expectSuccess } from '../../support/expectations.ts';
import { copyCrd, installCrdCopy } from '../../support/own-crds.ts';
import type { Body, RawResponse } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { randomName } from '../../support/widgets.ts';

const clusterRef = { namespace: 'shop', name: 'main' };
const offer = { profile: 'test.talos.home', versions: ['1.35.4'] };

/** The kinds that users write, with valid specs. */
const kinds: readonly { readonly kind: string; readonly good: fc.Arbitrary<object> }[] = [
  { kind: 'ProviderConfig', good: anyProviderConfig(offlineDhcpEnvironment) },
  { kind: 'Cluster', good: anyCluster(offer).map(({ spec }) => spec) },
  { kind: 'AccessRequest', good: anyAccessRequest(clusterRef) },
];
const definitions = [...buildCrds(), ...openmcpCrds];

const definitionOf = (kind: string): Body =>
  definitions.find(({ spec }) => (spec['names'] as Body).kind === kind) as Body;

/** What the definitions of the user-written kinds accept and reject. */
export function testGeneratedObjects(server: () => ServerUnderTest): void {
  describe.each(kinds)('a generated $kind', ({ kind, good }) => {
    let namespace: string;
    let collection: string;
    const body = (): Body => copyCrd(server(), definitionOf(kind));

    beforeAll(async () => {
      const all = await installCrdCopy(server(), definitionOf(kind));
      namespace = await server().namespace('generated');
      const place = body().spec.scope === 'Namespaced' ? `/namespaces/${namespace}/` : '/';
      collection = all.replace(/\/(?=[^/]+$)/, place);
    });

    const create = (spec: object): Promise<RawResponse> => {
      const { group, versions } = body().spec;
      const object = { apiVersion: `${group}/${versions[0].name}`, kind, metadata: { name: randomName() }, spec };
      return server().admin.post(collection, object, { query: { dryRun: 'All' } });
    };

    it('that is valid is accepted unchanged, except for defaults', async () => {
      await fc.assert(
        fc.asyncProperty(good, async (spec) => {
          expect(expectSuccess(await create(spec), 201).spec).toMatchObject(spec);
        }),
        propertyParameters(`right ${kind}s (${server().name})`, 20),
      );
    });

    it('that violates the schema is rejected with the field', async () => {
      await fc.assert(
        fc.asyncProperty(invalidBySchema(good, specSchema(definitions, kind)), async ({ value, field }) => {
          const { status, body: rejection } = await create(value);
          expect([400, 422]).toContain(status);
          expect(rejection.message).toContain(field);
        }),
        propertyParameters(`${kind}s that do not fit the schema (${server().name})`, 40),
      );
    });
  });
}
