import { z } from 'zod';

/** Names that are also used as label values. */
const labelValueSchema = z.string().max(63);

/** References of the objects that the provider makes for a Cluster. */
export const providerRefSchema = z.strictObject({
  name: labelValueSchema.describe('Value of --provider-name.'),
  environment: labelValueSchema.describe('Value of --environment.'),
  namespace: labelValueSchema.describe('Namespace of the provider.'),
});

export const providerConfigRefSchema = z.strictObject({
  name: labelValueSchema.describe('Name of the ProviderConfig.'),
});

export const clusterRefSchema = z.strictObject({
  namespace: labelValueSchema.describe('Namespace of the Cluster.'),
  name: z.string().max(253).describe('Name of the Cluster.'),
  uid: z.string().max(64).describe('UID of the Cluster. A Cluster that was deleted and created again has another UID.'),
});
