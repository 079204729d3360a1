/** Ours replace the operator's own where those are not installed; `crds.test.ts` verifies that both validate alike. */
export { openmcpCrds } from '../../../src/api/openmcp/crds.ts';
