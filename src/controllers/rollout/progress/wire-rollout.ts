import type { ControllerOptions } from '../../../kube/controller/controller.ts';
import type { Services } from '../../shared/services.ts';
import { reportRollout } from './report-rollout.ts';
import { rolloutKeySources } from './rollout-key-sources.ts';

/** It has no name on the command line: it reports on ProviderConfigs. */
export const wireRollout = (services: Services): Pick<ControllerOptions, 'sources' | 'reconcile'> => ({
  reconcile: (key, context) => reportRollout(services, key, context),
  sources: rolloutKeySources(services),
});
