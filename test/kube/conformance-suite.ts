import { afterAll, beforeAll, describe, it } from 'vitest';
import { testAdmissionPolicy } from './conformance/access/admission-policy.ts';
import { testIdentity } from './conformance/access/identity.ts';
import { testRbacDecisions } from './conformance/access/rbac-decisions.ts';
import { testRbacObjects } from './conformance/access/rbac-objects.ts';
import { testServiceAccountTokens } from './conformance/access/service-account-tokens.ts';
import { testCel } from './conformance/custom-resources/cel.ts';
import { testCrdLifecycle } from './conformance/custom-resources/crd-lifecycle.ts';
import { testCrdValidation } from './conformance/custom-resources/crd-validation.ts';
import { testGeneratedObjects } from './conformance/custom-resources/generated-objects.ts';
import { testOwnCelRules } from './conformance/custom-resources/own-cel-rules.ts';
import { testOwnCrds } from './conformance/custom-resources/own-crds.ts';
import { testSchemas } from './conformance/custom-resources/schemas.ts';
import { testApply } from './conformance/objects/apply.ts';
import { testApplyListTypes } from './conformance/objects/apply-list-types.ts';
import { testBuiltinKinds } from './conformance/objects/builtin-kinds.ts';
import { testCreation } from './conformance/objects/creation.ts';
import { testDeletion } from './conformance/objects/deletion.ts';
import { testEviction } from './conformance/objects/eviction.ts';
import { testGarbageCollection } from './conformance/objects/garbage-collection.ts';
import { testPatches } from './conformance/objects/patches.ts';
import { testReadAndReplace } from './conformance/objects/read-and-replace.ts';
import { testSecretsAndConfigMaps } from './conformance/objects/secrets-and-configmaps.ts';
import { testStatusSubresource } from './conformance/objects/status-subresource.ts';
import { testDiscovery } from './conformance/reads/discovery.ts';
import { testExpiredVersions } from './conformance/reads/expired-versions.ts';
import { testLists } from './conformance/reads/lists.ts';
import { testWatchEnds } from './conformance/reads/watch-ends.ts';
import { testWatches } from './conformance/reads/watches.ts';
import type { ApiServerTarget } from './support/api-servers.ts';
import { ServerUnderTest } from './support/server-under-test.ts';

const allTests = [
  // Some servers take seconds for these. They are siblings so that they run concurrently.
  testWatchEnds,
  testGarbageCollection,
  testCrdLifecycle,
  testServiceAccountTokens,
  testCreation,
  testReadAndReplace,
  testSecretsAndConfigMaps,
  testPatches,
  testApply,
  testApplyListTypes,
  testStatusSubresource,
  testDeletion,
  testEviction,
  testAdmissionPolicy,
  testLists,
  testWatches,
  testCrdValidation,
  testSchemas,
  testCel,
  testRbacDecisions,
  testRbacObjects,
  testIdentity,
  testDiscovery,
  testBuiltinKinds,
  testOwnCrds,
  testGeneratedObjects,
  testOwnCelRules,
  // Last: some servers are unavailable for a moment while they compact.
  testExpiredVersions,
];

/** The complete conformance suite of a Kubernetes API server, on one started platform. */
export function defineConformanceSuite(platform: ApiServerTarget): void {
  if (platform.missing) {
    it(`a Kubernetes API server (${platform.name})`, ({ skip }) => skip(platform.missing));
    return;
  }
  describe(`a Kubernetes API server (${platform.name})`, () => {
    let started: ServerUnderTest;
    beforeAll(async () => {
      started = await ServerUnderTest.start(platform);
      // An image may have to be pulled.
    }, 300_000);
    afterAll(async () => {
      await started?.close();
    }, 120_000);
    const server = () => started;
    for (const rules of allTests) rules(server);
  });
}
