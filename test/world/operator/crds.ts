/** Where the operator's own are not installed, ours take their place; `crds.test.ts` holds that they judge alike. */
export { openmcpCrds } from '../../../src/api/openmcp/crds.ts';
