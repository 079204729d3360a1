import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeCrds } from '../../../src/api/crd.ts';
import { anyAccessRequest } from '../../support/arbitrary/access-request.ts';
import { anyCluster } from '../../support/arbitrary/cluster.ts';
import { trials } from '../../support/arbitrary/property.ts';
import { anyProviderConfig, nowhereTold } from '../../support/arbitrary/provider-config.ts';
import { brokenBySchema, specSchema } from '../../support/arbitrary/schema-breaks.ts';
import { openmcpCrds } from '../../world/operator/crds.ts';
import { succeeds } from '../support/expectations.ts';
import { copyOf, installCopy } from '../support/our-definitions.ts';
import type { ServerUnderTest } from '../support/server-under-test.ts';
import { word } from '../support/widgets.ts';
import type { Answer, Body } from '../support/wire.ts';

const clusterRef = { namespace: 'shop', name: 'main' };
const offer = { profile: 'test.talos.home', versions: ['1.35.4'] };

/** Kinds that people write, and specs of them that are right. */
const kinds: readonly { readonly kind: string; readonly good: fc.Arbitrary<object> }[] = [
  { kind: 'ProviderConfig', good: anyProviderConfig(nowhereTold) },
  { kind: 'Cluster', good: anyCluster(offer).map(({ spec }) => spec) },
  { kind: 'AccessRequest', good: anyAccessRequest(clusterRef) },
];
const definitions = [...describeCrds(), ...openmcpCrds];

const definitionOf = (kind: string): Body =>
  definitions.find(({ spec }) => (spec['names'] as Body).kind === kind) as Body;

/** What the definitions of the kinds that people write take and refuse. */
export function generatedRules(server: () => ServerUnderTest): void {
  describe.each(kinds)('a generated $kind', ({ kind, good }) => {
    let namespace: string;
    let collection: string;
    const body = (): Body => copyOf(server(), definitionOf(kind));

    beforeAll(async () => {
      const all = await installCopy(server(), definitionOf(kind));
      namespace = await server().namespace('generated');
      const place = body().spec.scope === 'Namespaced' ? `/namespaces/${namespace}/` : '/';
      collection = all.replace(/\/(?=[^/]+$)/, place);
    });

    const create = (spec: object): Promise<Answer> => {
      const { group, versions } = body().spec;
      const object = { apiVersion: `${group}/${versions[0].name}`, kind, metadata: { name: word() }, spec };
      return server().admin.post(collection, object, { query: { dryRun: 'All' } });
    };

    it('that is right is taken as it was written, but for what was left out', async () => {
      await fc.assert(
        fc.asyncProperty(good, async (spec) => {
          expect(succeeds(await create(spec), 201).spec).toMatchObject(spec);
        }),
        trials(`right ${kind}s (${server().name})`, 20),
      );
    });

    it('that does not fit the schema is refused with the field', async () => {
      await fc.assert(
        fc.asyncProperty(brokenBySchema(good, specSchema(definitions, kind)), async ({ value, field }) => {
          const { status, body: refusal } = await create(value);
          expect([400, 422]).toContain(status);
          expect(refusal.message).toContain(field);
        }),
        trials(`${kind}s that do not fit the schema (${server().name})`, 40),
      );
    });
  });
}
