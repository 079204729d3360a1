import { defineConformanceSuite } from './conformance-suite.ts';
import { realApiServer } from './support/api-servers.ts';

defineConformanceSuite(realApiServer);
