import { defineConformanceSuite } from './conformance-suite.ts';
import { externalApiServer } from './support/api-servers.ts';

defineConformanceSuite(externalApiServer);
