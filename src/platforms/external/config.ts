import { z } from 'zod';

/** The only size: the hardware is not known. */
export const externalSize = 'external';

export const ExternalConfig = z
  .strictObject({
    managedBy: z
      .string()
      .min(1)
      .max(253)
      .describe(
        'Who makes and changes the nodes, for the conditions of the Clusters, e.g. the name of a team or of a page.',
      ),
  })
  .describe(
    'For clusters that others have made and that the command adopt adopts. The provider reports their state and grants access to them. It neither makes nor changes nor deletes a node, so that the fields of spec that describe nodes have no effect.',
  );
export type ExternalConfig = z.infer<typeof ExternalConfig>;
